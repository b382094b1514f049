"""What all queue disciplines have; they themselves are in `qdiscs`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from dumbbell.scenario.base import Kinded
from dumbbell.scenario.problems import Location

Parameters = Mapping[str, Any]
"""A queue discipline in a plan: its `kind` and all its parameters, in ns, bit/s, bytes and packets."""


class PortFacts(NamedTuple):
    """What the parameters of a queue discipline depend on."""

    rate_bps: int
    base_rtt_ns: int
    """`bdp` is the rate times this."""
    shaped_here: bool
    """The discipline shapes by itself."""


class Discipline(Kinded):
    """What all queue disciplines have."""

    counts_bytes: ClassVar[bool] = False
    """Its limits are in bytes, not in packets."""
    depends_on_seed: ClassVar[bool] = True
    """It hashes or decides at random, so that runs with different seeds differ."""
    is_randomised: ClassVar[bool] = False
    """It decides at random for each packet: only its behaviour over many seeds can be compared."""

    kinds_planned: ClassVar[tuple[str, ...]] = ()
    """What a plan calls it, if not as scenarios do."""

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """Key, what is wrong and what was expected, of parameters that contradict each other or can never work."""
        yield from ()

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        raise NotImplementedError

    @classmethod
    def features(cls, _planned: Parameters) -> Iterator[tuple[str, str]]:
        """Parameters in a plan, dotted, that not every engine has, and the feature that an engine must name."""
        yield from ()


def number(quantity: int | None) -> int | None:
    """A quantity without its unit."""
    return None if quantity is None else int(quantity)
