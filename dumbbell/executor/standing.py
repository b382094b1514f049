"""How far a set of runs is, and what follows for the rest of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Standing:
    """A set of runs in the middle of being computed. Costs are what was expected before, in CPU seconds."""

    done: int = 0
    total: int = 0
    cost_done: float = 0.0
    """Of the runs that are done."""
    cost_total: float = 0.0
    running: tuple[tuple[float, float], ...] = ()
    """Of each run that is begun: since when (`time.monotonic()`), and its cost. Those that wait to be written are still among them."""
    busy_s: float = 0.0
    """Time that workers spent on the runs that are done."""
    packets: int = 0
    """Data packets that these delivered."""
    workers: int = 1

    def __add__(self, other: Standing) -> Standing:
        """Two sets, one after the other, as one."""
        return Standing(
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
        """About how long the rest takes, seconds; None before the first run is done. `now` as `time.monotonic()` tells it."""
        pace = self._pace
        if pace is None:
            return None
        begun = [max(pace * cost - (now - since), 0.0) for since, cost in self.running]
        waiting = self.cost_total - self.cost_done - sum(cost for _, cost in self.running)
        return max((pace * max(waiting, 0.0) + sum(begun)) / self.workers, max(begun, default=0.0))

    def share(self, now: float) -> float:
        """How much of the expected cost is done, 0 to 1; what is being computed counts with the time that it has taken."""
        pace = self._pace
        if pace is None:
            return 0.0
        begun = sum(min((now - since) / pace, cost) for since, cost in self.running)
        return min((self.cost_done + begun) / self.cost_total, 1.0)

    @property
    def _pace(self) -> float | None:
        """Seconds that a CPU second of expected cost takes here, by the runs that are done."""
        return self.busy_s / self.cost_done if self.cost_done and self.busy_s else None

    @property
    def packets_per_s(self) -> float | None:
        """Data packets delivered in a second by all workers together; None before the first run is done."""
        return self.packets / self.busy_s * min(max(len(self.running), 1), self.workers) if self.busy_s else None
