"""The catalogue of what may be set: every parameter with its unit, default, bounds and meaning, as the simulator's sources declare it.

`docs/catalogue.py` writes catalogue.json from the sources, and the models of scenarios from catalogue.json.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from dumbbell.catalogue.feature import Feature

FILE = Path(__file__).with_name("catalogue.json")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter. Wide because everybody who needs a fact of it takes it from here."""

    name: str
    """Name in scenarios."""
    kind: str
    """`flag`, `integer`, `choice`, `text`, or a quantity: `duration`, `seconds`, `limit-packets` ..."""
    meaning: str
    meanings: Mapping[str, str] = field(default_factory=dict)
    """Meanings of words of a choice, where the catalogue has them."""
    field: str = ""
    """Dotted name in a plan; empty if a plan has no field of its own for it."""
    unit: str = ""
    """Unit of its values in a plan."""
    words: Sequence[str] = ()
    """Words of a choice."""
    pattern: str = ""
    """Pattern of a text."""
    default: Any = None
    """Its value unless a scenario says another, as a plan has it; of a quantity `written` is the same as scenarios have it."""
    written: str = ""
    required: bool = False
    frames: int = 0
    """The default is this number of the largest frames."""
    beyond_frame: int = 0
    """The default is the largest frame and this number of bytes."""
    least: int | None = None
    """The minimum, as a plan has it; `most` is the maximum."""
    most: int | None = None
    example: str = ""
    """A value as scenarios have it."""
    word: str = ""
    """Linux's words for it.

    For tc, `{}` stands for the value, `ON|OFF` are those of a flag, `WORD=...|WORD=...` those of a choice. For a congestion control, it
    is the parameter of the module, if the running kernel lets you set it. For an option of a stack, it is `SYSCTL={}`, where a flag has
    `ON|OFF`, or the metric of a route.
    """
    since: str = ""
    """Series of Linux that has it first; empty if that is the entry's own."""
    variants: Sequence[str] = ()
    """The variants that have it; empty for all."""
    feature: Feature | None = None
    """Feature that an engine must have if it is set."""
    sparse: bool = False
    """A plan has the field only if it differs from the default."""

    def of(self, plan: Mapping[str, Any]) -> Any:
        """Return its value in a plan; None if the plan has none."""
        value: Any = plan
        for part in self.field.split("."):
            value = value.get(part) if value is not None else None
        return value


def parameter(listed: Mapping[str, Any]) -> Parameter:
    """Return a parameter from its plain data."""
    feature = {"feature": Feature[listed["feature"].replace("-", "_").upper()]} if "feature" in listed else {}
    return Parameter(**{**listed, **feature})


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that parameters are of, such as a queue discipline."""

    name: str
    summary: str
    about: str
    """Description with its source."""
    draws: str
    """Purpose of the random numbers that it draws: `nothing`, its `hash`, or `each-packet`."""
    since: str
    """The series of Linux that has it first; empty if none has."""
    parameters: Sequence[Parameter]
    tc: Sequence[str]
    """The parameters that tc gets, in its order."""


def entries(group: str) -> Mapping[str, Entry]:
    """Return what there is of a group, such as `qdisc`, by name."""
    return _read()[group]


@dataclass(frozen=True, slots=True)
class State:
    """A state variable, which a scenario may record as a series."""

    name: str
    unit: str
    """Unit; empty for plain numbers and words."""
    meaning: str
    words: Sequence[str] = ()
    """Words that the values 0, 1, ... stand for; empty if the values are numbers."""


@cache
def states(group: str) -> Mapping[str, Sequence[State]]:
    """Return the state variables of congestion controls (`cc`) or queue disciplines (`qdisc`) by the name of these; those of every sender
    (`sender`) by the name `sender`."""
    listed = _document()["state"][group]
    named = {"sender": listed} if group == "sender" else listed
    return {name: tuple(State(**each) for each in several) for name, several in named.items()}


@cache
def state_names() -> Mapping[str, State]:
    """Return all state variables by name. Those with one name measure the same quantity, but each algorithm has its own meaning."""
    several = (each for group in ("sender", "cc", "qdisc") for listed in states(group).values() for each in listed)
    found: dict[str, State] = {}
    for each in several:
        found.setdefault(each.name, each)
    return found


@cache
def _read() -> Mapping[str, Mapping[str, Entry]]:
    return {group: {each["name"]: _entry(each) for each in listed} for group, listed in _document().items() if isinstance(listed, list)}


def _entry(listed: Mapping[str, Any]) -> Entry:
    parameters = [parameter(each) for each in listed["parameters"]]
    told = listed["tc"] or [each.name for each in parameters if each.word]
    return Entry(**{**listed, "parameters": parameters, "tc": told})


@cache
def _document() -> Any:
    return json.loads(FILE.read_text(encoding="utf-8"))
