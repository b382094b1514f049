"""Base class of the queue disciplines: all that follows from the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

from pydantic import model_validator

from dumbbell.catalogue import Entry, Parameter, entries
from dumbbell.catalogue.feature import Feature
from dumbbell.scenario.base import Kinded
from dumbbell.scenario.bounds import beyond
from dumbbell.documents.problems import Location, Unfit
from dumbbell.scenario.units import FRAME_BYTES, Limit

Parameters = Mapping[str, Any]
"""A queue discipline in a plan: its `kind` and all its parameters, in ns, bit/s, bytes and packets."""
_NS_PER_S = 10**9
CERTAIN = 1 << 32
"""A probability of 1 in a plan."""


class PortFacts(NamedTuple):
    """Facts of a port that the parameters of its queue discipline depend on."""

    rate_bps: int
    base_rtt_ns: int
    """`bdp` is the rate times this."""
    shaped_here: bool
    """The discipline itself paces the port."""
    frame_bytes: int = FRAME_BYTES
    """The largest frame."""

    def packets(self, limit: Limit) -> int:
        """A limit in packets."""
        return limit.packets(self.rate_bps, self.base_rtt_ns, self.frame_bytes)

    def bytes(self, limit: Limit) -> int:
        """A limit in bytes."""
        return limit.bytes(self.rate_bps, self.base_rtt_ns, self.frame_bytes)

    def planned(self, parameter: Parameter, value: Any) -> Any:
        """The value of a parameter in a plan."""
        if value is None:
            return parameter.frames * self.frame_bytes if parameter.frames else None
        if parameter.kind == "limit-packets":
            return self.packets(value)
        if parameter.kind == "limit-bytes":
            return self.bytes(value)
        if parameter.kind == "probability":
            return int(round(value, 6) * CERTAIN)  # tc gets six digits
        if parameter.kind == "seconds":
            return int(value) // _NS_PER_S
        return value if isinstance(value, bool | str | list) else int(value)


class Discipline(Kinded):
    """A queue discipline as a user writes it."""

    depends_on_seed: ClassVar[bool]
    """It hashes or decides at random, so that runs with different seeds differ."""
    is_randomised: ClassVar[bool]
    """It decides at random for each packet: only its behaviour over many seeds can be compared."""
    kinds_planned: ClassVar[tuple[str, ...]] = ()
    """Its kinds in a plan, if they differ from its kind in a scenario."""

    @classmethod
    @cache
    def entry(cls) -> Entry:
        """Its entry of the catalogue."""
        return entries("qdisc")[cls.model_fields["kind"].default]

    @classmethod
    def counts_bytes(cls) -> bool:
        """True if its limits are in bytes, not in packets."""
        return any(each.kind == "limit-bytes" for each in cls.entry().parameters)

    @model_validator(mode="after")
    def _of_its_variant(self) -> Self:
        variant = getattr(self, "variant", None)
        for each in self.entry().parameters:
            value, default = getattr(self, each.name), type(self).model_fields[each.name].default
            if each.variants and variant not in each.variants and value != default:
                raise Unfit(f"the variant {variant} has no {each.name}", "it left out")
        return self

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """Yield key, what is wrong and what was expected, for parameters out of bounds, or that contradict each other."""
        for each in self.entry().parameters:
            yield from beyond((each.name,), each, getattr(self, each.name))

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        made: dict[str, Any] = {"kind": self.entry().name}
        for each in self.entry().parameters:
            value = getattr(self, each.name)
            if each.field and not (each.sparse and value == type(self).model_fields[each.name].default):
                *path, last = each.field.split(".")
                inner = made
                for part in path:
                    inner = inner.setdefault(part, {})
                inner[last] = port.planned(each, value)
        return made

    @classmethod
    def features(cls, planned: Parameters) -> Iterator[tuple[str, Feature]]:
        """Yield (dotted name of a parameter in a plan, feature that its engine must have) for parameters that not every engine can do."""
        for each in cls.entry().parameters:
            if each.feature and each.field and each.of(planned) not in (None, False, 0):
                yield each.field, each.feature


def number(quantity: int | None) -> int | None:
    """A quantity without its unit."""
    return None if quantity is None else int(quantity)
