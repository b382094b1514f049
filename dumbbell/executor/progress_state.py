"""The progress of a set of runs, and the estimated time left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class ProgressState:
    """A set of runs that is being computed. Costs are the estimates made beforehand, in CPU seconds."""

    done: int = 0
    total: int = 0
    cost_done: float = 0.0
    """Estimated cost of the runs that are done."""
    cost_total: float = 0.0
    running: tuple[tuple[float, float], ...] = ()
    """For each running job its start (`time.monotonic()`) and its cost. A job counts as running until its run is stored."""
    busy_s: float = 0.0
    """Wall time that workers spent on the runs that are done."""
    packets: int = 0
    """Data packets delivered in the runs that are done."""
    workers: int = 1

    def __add__(self, other: ProgressState) -> ProgressState:
        """The progress of two sets that are computed one after the other."""
        return ProgressState(
            self.done + other.done,
            self.total + other.total,
            self.cost_done + other.cost_done,
            self.cost_total + other.cost_total,
            self.running + other.running,
            self.busy_s + other.busy_s,
            self.packets + other.packets,
            max(self.workers, other.workers),
        )

    def left_s(self, now: float) -> float | None:
        """Estimated time left, seconds; None before the first run is done. `now` is `time.monotonic()`."""
        pace = self._pace
        if pace is None:
            return None
        begun = [max(pace * cost - (now - since), 0.0) for since, cost in self.running]
        waiting = self.cost_total - self.cost_done - sum(cost for _, cost in self.running)
        return max((pace * max(waiting, 0.0) + sum(begun)) / self.workers, max(begun, default=0.0))

    def share(self, now: float) -> float:
        """Share of the estimated cost that is done, 0 to 1; running jobs count with the time that they have taken so far."""
        pace = self._pace
        if pace is None:
            return 0.0
        begun = sum(min((now - since) / pace, cost) for since, cost in self.running)
        return min((self.cost_done + begun) / self.cost_total, 1.0)

    @property
    def _pace(self) -> float | None:
        """Wall seconds per CPU second of estimated cost, measured on the runs that are done; None before the first."""
        return self.busy_s / self.cost_done if self.cost_done and self.busy_s else None

    @property
    def packets_per_s(self) -> float | None:
        """Data packets delivered per second by all workers together; None before the first run is done."""
        return self.packets / self.busy_s * min(max(len(self.running), 1), self.workers) if self.busy_s else None


Progress: TypeAlias = Callable[[ProgressState], None]
"""Called when a run is begun and when one is done."""
