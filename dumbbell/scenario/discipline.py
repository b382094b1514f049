"""Base class of the queue disciplines, which are in `qdiscs`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from dumbbell.documents.problems import Location
from dumbbell.scenario.base import Kinded
from dumbbell.scenario.units import FRAME_BYTES, Limit

Parameters = Mapping[str, Any]
"""A queue discipline in a plan: its `kind` and all its parameters, in ns, bit/s, bytes and packets."""


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


class Discipline(Kinded):
    """A queue discipline as a user writes it."""

    counts_bytes: ClassVar[bool] = False
    """Its limits are in bytes, not in packets."""
    depends_on_seed: ClassVar[bool] = True
    """It hashes or decides at random, so that runs with different seeds differ."""
    is_randomised: ClassVar[bool] = False
    """It decides at random for each packet: only its behaviour over many seeds can be compared."""

    kinds_planned: ClassVar[tuple[str, ...]] = ()
    """Its kinds in a plan, if they differ from its kind in a scenario."""

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """Yield key, what is wrong and what was expected, for parameters that contradict each other or can never work."""
        yield from ()

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        raise NotImplementedError

    @classmethod
    def features(cls, _planned: Parameters) -> Iterator[tuple[str, str]]:
        """Yield (dotted name of a parameter in a plan, feature that its engine must have) for parameters that not every engine can do."""
        yield from ()


def number(quantity: int | None) -> int | None:
    """A quantity without its unit."""
    return None if quantity is None else int(quantity)
