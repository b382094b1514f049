"""netem as a queue discipline that delays, as a user writes it; `faults` has the other faults of links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from dumbbell.documents.problems import Location
from dumbbell.scenario.bounds import no_tick, too_long
from dumbbell.scenario.discipline import Discipline, Parameters, PortFacts
from dumbbell.scenario.units import Duration, Limit

NETEM_TICK = "tick of netem"


class Netem(Discipline):
    """netem that delays (Linux netem): it holds every packet for the same time, and drops packets that come while it is full."""

    depends_on_seed = False

    kind: Literal["netem"] = "netem"
    delay: Duration
    """Delay of each packet; not part of the path's `rtt`."""
    limit: Limit = Limit.parse("1000p")
    """Maximum number of packets (or `bdp`), with those that are held for the delay."""
    tick: Duration | None = None
    """Time between clock ticks of a kernel before 2.6.22, at which packets leave in bursts; by default timers are exact."""

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """A delay or a tick of no time, or a long one."""
        yield from too_long(("delay",), self.delay)
        if not self.delay:
            yield ("delay",), f"{self.delay} delays nothing", "e.g. 100ms, or pfifo without a delay"
        yield from no_tick(("tick",), self.tick)

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        tick = {} if self.tick is None else {"tick_ns": int(self.tick)}
        return {"kind": "netem", "delay_ns": int(self.delay), "limit_packets": port.packets(self.limit), **tick}

    @classmethod
    def features(cls, planned: Parameters) -> Iterator[tuple[str, str]]:
        """The timer of old kernels."""
        if "tick_ns" in planned:
            yield "tick_ns", NETEM_TICK
