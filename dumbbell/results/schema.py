"""What the series and tables of a run hold: names, units, kind and meaning, as `crates/sim/src/probe/schema.rs` has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from dumbbell.native import native

_EVERY_ENGINE, _OF_TCP = "every-engine", "every-engine-of-tcp"


@dataclass(frozen=True)
class Quantity:
    """A series, or a column of a table."""

    name: str
    unit: str
    """Empty of names and of plain numbers."""
    kind: str
    """`label` (a name), `time` (since the start of the run), `gauge` (a value at an instant; of a column at the end) or `total` (since
    the start, never falling)."""
    source: str
    """Who fills it in: `every-engine`, `every-engine-of-tcp` (of TCP connections only), the name of an engine, or `captures`."""
    optional: bool
    """There may be none even so."""
    meaning: str

    @property
    def of_every_engine(self) -> bool:
        """Whether every engine fills it in, if only of TCP."""
        return self.source in (_EVERY_ENGINE, _OF_TCP)

    @property
    def of_tcp_only(self) -> bool:
        """Whether streams of datagrams have none."""
        return self.source == _OF_TCP

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers."""
        return self.kind != "label"

    @property
    def is_whole(self) -> bool:
        """Whether its values, of a column, are whole numbers."""
        return self.is_number and self.unit != "ms"

    @cached_property
    def types(self) -> frozenset[type]:
        """What a column of it may hold; nothing where a row has no value."""
        return frozenset((type(None), *((str,) if not self.is_number else (int,) if self.is_whole else (int, float))))


@dataclass(frozen=True)
class Schema:
    """Everything that may stand in a run."""

    series: Mapping[str, Mapping[str, Quantity]]
    """By kind of entity (`flow`, `port`) and name."""
    flows: Mapping[str, Quantity]
    """Columns of the table of flows, by name."""
    ports: Mapping[str, Quantity]
    """Columns of the table of ports, by name."""

    @property
    def units(self) -> Mapping[str, str]:
        """Of each series."""
        return {name: quantity.unit for quantities in self.series.values() for name, quantity in quantities.items()}

    def table(self, name: str) -> Mapping[str, Quantity]:
        """The columns of `flows` or of `ports`."""
        return {"flows": self.flows, "ports": self.ports}[name]

    def sampled(self, kind: str, engine: str) -> tuple[str, ...]:
        """The series of a kind of entity that an engine samples at a fixed interval, in order."""
        return tuple(name for name, quantity in self.series[kind].items() if quantity.source in (_EVERY_ENGINE, engine))


@cache
def schema() -> Schema:
    """The schema. Raises `EnvironmentFault` if the native module is not built."""
    found = json.loads(native().schema())
    return Schema(
        series={kind: _quantities(listed) for kind, listed in found["series"].items()},
        flows=_quantities(found["flows"]),
        ports=_quantities(found["ports"]),
    )


def _quantities(listed: list[dict[str, Any]]) -> dict[str, Quantity]:
    return {each["name"]: Quantity(**each) for each in listed}
