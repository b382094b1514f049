"""Lateness of timers, the message about a machine that is too busy for a run, and the limits of the time of a run in real time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from dumbbell.engines.testbed.session import Times
from dumbbell.plan import Plan

_DRAIN_S = 1.0
"""Maximum time for the queues to become empty, in addition to two RTTs."""
_LATE_US = 1000.0
"""99th percentile of timers, above which a machine is too busy to be believed."""


def times(plan: Plan, lead_s: float) -> Times:
    """Return the maximum time of a run and of its end."""
    return Times(plan.duration_ns / 1e9, _DRAIN_S + 2 * max(path.base_rtt_ns for path in plan.paths) / 1e9, lead_s)


def too_busy(machine: str, late: Lateness) -> tuple[str, ...]:
    """Return the messages about a machine whose timers are late."""
    return (f"{machine}: timers are {late.p99_us:.0f} us late (p99): too busy",) if late.p99_us > _LATE_US else ()


@dataclass(frozen=True)
class Lateness:
    """Lateness of a timer of 1 ms on a machine, us."""

    median_us: float
    p99_us: float
    worst_us: float

    @classmethod
    def read(cls, said: str) -> Self:
        """Read the output of `agent lateness`. Raises `ValueError`."""
        median_us, p99_us, worst_us = map(float, said.split())
        return cls(median_us, p99_us, worst_us)

    def plain(self) -> dict[str, float]:
        """Return plain data for JSON."""
        return {"median_us": self.median_us, "p99_us": self.p99_us, "worst_us": self.worst_us}
