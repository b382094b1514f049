"""Limits of the time of a run in real time, and the message about a machine that is too busy for a run."""

from __future__ import annotations

from dumbbell.engines.testbed.lateness import Lateness
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
