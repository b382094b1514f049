"""Offsets of the machines' clocks from the controller's."""

from __future__ import annotations

import time
from dataclasses import dataclass

from dumbbell.engines.testbed.transport.base import Machine, MachineFault

_EXCHANGES = 40
_ANSWER_S = 5.0


@dataclass(frozen=True)
class Offset:
    """A machine's clock less the controller's."""

    offset_ns: int
    uncertainty_ns: int

    def plain(self, later: Offset) -> dict[str, float]:
        """Return plain data for JSON, with the drift up to the end of a run."""
        drift_us = (later.offset_ns - self.offset_ns) / 1e3
        return {"offset_us": self.offset_ns / 1e3, "uncertainty_us": self.uncertainty_ns / 1e3, "drift_us": drift_us}


async def measure(machine: Machine, agent: str) -> Offset:
    """Asks for the time several times; the exchange that took least counts. Raises `MachineFault`."""
    process = await machine.start([agent, "clock"])
    best: tuple[int, int] | None = None
    for _ in range(_EXCHANGES):
        before_ns = time.time_ns()
        await process.write(b"\n")
        line = await process.line(_ANSWER_S)
        after_ns = time.time_ns()
        if line is None:
            raise MachineFault(machine.name, f"the agent does not tell the time: {(await process.wait(_ANSWER_S)).said}")
        took_ns, offset_ns = after_ns - before_ns, int(line) - (before_ns + after_ns) // 2
        best = min(best or (took_ns, offset_ns), (took_ns, offset_ns))
    await process.wait(_ANSWER_S)
    assert best is not None  # several exchanges
    return Offset(best[1], best[0] // 2)
