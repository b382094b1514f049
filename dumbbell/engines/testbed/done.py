"""What a run in real time left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dumbbell.engines.linux import Devices
from dumbbell.engines.testbed.lateness import Lateness
from dumbbell.engines.testbed.session import Times
from dumbbell.plan import Plan

if TYPE_CHECKING:
    from dumbbell.results import Block, Table

_DRAIN_S = 1.0
"""Beside two RTTs: most time for the queues to become empty."""
_LATE_US = 1000.0
"""99th percentile of timers, above which a machine is too busy to be believed."""


@dataclass(frozen=True)
class Done:
    """Beside the files that are read as those of the engine `kernel`."""

    plan: Plan
    """As it was run."""
    devices: Devices
    facts: Mapping[str, Any]
    """For run.json."""
    captures: Mapping[str, bytes]
    doubts: tuple[str, ...]
    """Why numbers may not mean what they are called."""
    series: Callable[[Iterable[Block], Table], Iterable[Block]] = lambda blocks, _flows: blocks
    """What becomes of the series; the table is that of flows."""


def times(plan: Plan, lead_s: float) -> Times:
    """How long a run and its end may take."""
    return Times(plan.duration_ns / 1e9, _DRAIN_S + 2 * max(path.base_rtt_ns for path in plan.paths) / 1e9, lead_s)


def too_busy(machine: str, late: Lateness) -> tuple[str, ...]:
    """What is to be said of a machine whose timers are late."""
    return (f"{machine}: timers are {late.p99_us:.0f} us late (p99): too busy",) if late.p99_us > _LATE_US else ()
