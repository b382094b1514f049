"""dummynet, FreeBSD's traffic shaper, as a user writes it: a pipe with a queue limited in bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from dumbbell.documents.problems import Location
from dumbbell.scenario.bounds import no_tick
from dumbbell.scenario.discipline import Discipline, PortFacts
from dumbbell.scenario.units import Duration, Limit


class Dummynet(Discipline):
    """A pipe of FreeBSD's dummynet: tail drop by bytes that tests before it adds, and a shaper; rate and limit count IP packets."""

    counts_bytes = True
    depends_on_seed = False

    kind: Literal["dummynet"] = "dummynet"
    limit: Limit
    """Limit of the queue, bytes or `bdp`. The queue may exceed it by one packet."""
    tick: Duration | None = None
    """Time between clock ticks of the kernel, at which packets leave in bursts; by default the server is ideal."""

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """A tick of no time, or a long one."""
        yield from no_tick(("tick",), self.tick)

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        tick = {} if self.tick is None else {"tick_ns": int(self.tick)}
        return {"kind": "dummynet", "rate_bps": port.rate_bps, "limit_bytes": port.bytes(self.limit), **tick}
