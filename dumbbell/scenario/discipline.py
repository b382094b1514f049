"""Base class of the queue disciplines: all that follows from the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

from pydantic import model_validator

from dumbbell.catalogue import Entry, Parameter, entries
from dumbbell.catalogue.feature import Feature
from dumbbell.documents.problems import Location, Unfit
from dumbbell.scenario.base import Kinded
from dumbbell.scenario.bounds import beyond
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


_PLANNED: Mapping[str, Callable[[PortFacts, Any], Any]] = {
    "limit-packets": PortFacts.packets,
    "limit-bytes": PortFacts.bytes,
    "probability": lambda _, value: int(round(value, 6) * CERTAIN),  # tc gets six digits
    "seconds": lambda _, value: int(value) // _NS_PER_S,
    **dict.fromkeys(("flag", "integer", "choice", "text"), lambda _, value: value),
}
"""A value in a plan, by the kind of parameter; else it is the number alone."""


class _InPlan(NamedTuple):
    """A parameter that a plan has."""

    parameter: Parameter
    group: str
    """The mapping that it is in; empty for the discipline's own."""
    name: str
    default: Any
    """In a scenario."""
    planned: Callable[[PortFacts, Any], Any]


class Discipline(Kinded):
    """A queue discipline as a user writes it."""

    catalogued: ClassVar[tuple[str, str]]
    """Its group and name in the catalogue."""
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
        group, name = cls.catalogued
        return entries(group)[name]

    @classmethod
    @cache
    def _in_plan(cls) -> list[_InPlan]:
        """The parameters that a plan has."""
        made = []
        for each in cls.entry().parameters:
            group, _, name = each.field.rpartition(".")
            planned = _PLANNED.get(each.kind, lambda _, value: int(value))
            made += [_InPlan(each, group, name, cls.model_fields[each.name].default, planned)] if name else []
        return made

    @classmethod
    def counts_bytes(cls) -> bool:
        """True if its limits are in bytes, not in packets."""
        return any(each.kind == "limit-bytes" for each in cls.entry().parameters)

    @model_validator(mode="after")
    def _of_its_variant(self) -> Self:
        variant = getattr(self, "variant", None)
        if variant is not None:
            for each, _, _, default, _ in self._in_plan():
                if each.variants and variant not in each.variants and getattr(self, each.name) != default:
                    raise Unfit(f"the variant {variant} has no {each.name}", "it left out")
        return self

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """Yield key, what is wrong and what was expected, for parameters out of bounds, or that contradict each other."""
        for each in self.entry().parameters:
            if each.name in self.model_fields_set:
                yield from beyond((each.name,), each, getattr(self, each.name))

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        made: dict[str, Any] = {"kind": self.entry().name}
        for each, group, name, default, planned in self._in_plan():
            value = getattr(self, each.name)
            if each.sparse and value == default:
                continue
            if value is not None:
                value = planned(port, value)
            elif each.frames:
                value = each.frames * port.frame_bytes
            (made.setdefault(group, {}) if group else made)[name] = value
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
