"""Names, units, kinds and meanings of all series and table columns, as defined in `crates/sim/src/probe/schema.rs`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from dumbbell.catalogue import State, states
from dumbbell.native import native

_EVERY_ENGINE, _OF_TCP, _STATE = "every-engine", "every-engine-of-tcp", "state"
_OF_PARTS = ("ms", "share", "ratio", "rating", "MOS")
"""Units of which there may be parts."""


@dataclass(frozen=True)
class Quantity:
    """A series, or a column of a table."""

    name: str
    unit: str
    """Unit; empty for names and plain numbers."""
    kind: str
    """`label` (a name), `time` (since the start of the run), `gauge` (an instantaneous value; in a table, that at the end) or `total`
    (cumulative since the start)."""
    source: str
    """Provider: `every-engine`, `every-engine-of-tcp` (for TCP connections only), the name of an engine, or a requirement: `captures`,
    `requests`, `datagrams` (that measure), `programs` (that make a flow), `state` (that the scenario asks for this state variable)."""
    optional: bool
    """True if it may be missing even so."""
    meaning: str

    @property
    def of_every_engine(self) -> bool:
        """True if every engine provides it, at least for TCP connections."""
        return self.source in (_EVERY_ENGINE, _OF_TCP)

    @property
    def of_tcp_only(self) -> bool:
        """True if UDP streams lack it."""
        return self.source == _OF_TCP

    @cached_property
    def is_number(self) -> bool:
        """True if its values are numbers."""
        return self.kind != "label"

    @cached_property
    def is_whole(self) -> bool:
        """True if the values of a column are integers."""
        return self.is_number and self.unit not in _OF_PARTS

    @cached_property
    def types(self) -> frozenset[type]:
        """The Python types that the values of a column may have."""
        return frozenset((type(None), *((str,) if not self.is_number else (int,) if self.is_whole else (int, float))))


@dataclass(frozen=True)
class Schema:
    """All series and table columns that a run may have."""

    series: Mapping[str, Mapping[str, Quantity]]
    """By kind of entity (`flow`, `port`) and name."""
    flows: Mapping[str, Quantity]
    """Columns of the table of flows, by name."""
    groups: Mapping[str, Quantity]
    """Columns of the table of groups, by name."""
    ports: Mapping[str, Quantity]
    """Columns of the table of ports, by name."""
    tins: Mapping[str, Quantity]
    """Columns of the table of tins, by name."""

    @property
    def units(self) -> Mapping[str, str]:
        """Series -> unit."""
        return {name: quantity.unit for quantities in self.series.values() for name, quantity in quantities.items()}

    def table(self, name: str) -> Mapping[str, Quantity]:
        """The columns of `flows`, `groups`, `ports` or `tins`."""
        return {"flows": self.flows, "groups": self.groups, "ports": self.ports, "tins": self.tins}[name]

    def sampled(self, kind: str, engine: str) -> tuple[str, ...]:
        """The series of a kind of entity that an engine samples at a fixed interval, in order."""
        family = engine.partition(":")[0]
        return tuple(name for name, quantity in self.series[kind].items() if quantity.source in (_EVERY_ENGINE, family))


@cache
def schema() -> Schema:
    """The schema. Raises `EnvironmentFault` if the native module is not built."""
    found = json.loads(native().schema())
    series = {kind: _quantities(listed) for kind, listed in found["series"].items()}
    for kind, groups in (("flow", ("sender", "cc")), ("port", ("qdisc",))):
        series[kind] |= {each.name: _state(each) for group in groups for listed in states(group).values() for each in listed}
    series["tin"] = {name: replace(each, source=_STATE) for name, each in _quantities(found["tins"]).items() if each.is_number}
    return Schema(
        series=series,
        flows=_quantities(found["flows"]),
        groups=_quantities(found["groups"]),
        ports=_quantities(found["ports"]),
        tins=_quantities(found["tins"]),
    )


@cache
def whole(table: str) -> frozenset[str]:
    """The columns of a table whose values are integers."""
    return frozenset(name for name, quantity in schema().table(table).items() if quantity.is_whole)


def _state(variable: State) -> Quantity:
    """A state variable as a series."""
    words = f": {', '.join(f'{i} {word}' for i, word in enumerate(variable.words))}" if variable.words else ""
    unit = variable.unit or ("state" if variable.words else "")
    return Quantity(variable.name, unit, "gauge", _STATE, True, f"{variable.meaning}{words}")


def _quantities(listed: list[dict[str, Any]]) -> dict[str, Quantity]:
    return {each["name"]: Quantity(**each) for each in listed}
