"""Refusals: plans that cannot be run, as data. A refusal has the place in a plan, what is wrong there, and what was expected.

`Problem` of dumbbell.scenario makes the words once, when dumbbell tells a user. Until then no code has to read anything out of words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["run", "host", "port", "path", "workload", "change"]


@dataclass(frozen=True, slots=True)
class Place:
    """An entry of a plan."""

    kind: Kind
    index: int | None = None
    """In the plan's list of that kind; None for the run itself."""


RUN = Place("run")


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing that an engine cannot run, or that cannot be at all."""

    place: Place
    field: str
    """Dotted, as the plan has it: `qdisc.limit_packets`; empty for the entry as a whole."""
    what: str
    expected: str

    @classmethod
    def from_json(cls, data: Any) -> Refusal:
        """From `{"place": {"kind", "index"}, "field", "what", "expected"}`, as engines in other languages give it."""
        place = data["place"]
        return cls(Place(place["kind"], place["index"]), data["field"], data["what"], data["expected"])
