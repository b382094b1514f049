"""Finds groups whose goodput still drifts within the measured window, so that a warm-up should be left out.

The halves of the window are compared. Over several runs of a cell the mean change must differ from none by its 95 % interval (Student's t)
and exceed 5 %; of a single run it must exceed 10 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dumbbell.metrics import confidence_interval
from dumbbell.results.columns import SEED
from dumbbell.results.summary import Summarised
from dumbbell.results.windowed import Window

LEAST, LEAST_OF_ONE = 0.05, 0.10
_MOST_TOLD = 3


@dataclass(frozen=True)
class Drift:
    """A group whose goodput changes from the first half of the window to the second."""

    group: str
    cell: tuple[tuple[str, object], ...]
    change: float
    """Mean over the runs, as a share of the goodput in the first half."""

    def line(self, from_s: float) -> str:
        """The warning."""
        way = "rises" if self.change > 0 else "falls"
        at = f" at {', '.join(f'{key} {value}' for key, value in self.cell)}" if self.cell else ""
        return (
            f"goodput of {self.group} still {way} by {abs(self.change):.0%} in the second half{at}: --from {from_s:g}s leaves out the first"
        )


def drifts(runs: Sequence[Summarised]) -> list[Drift]:
    """The groups that are not steady, the largest change first."""
    found: dict[tuple[str, tuple[tuple[str, object], ...]], list[float]] = {}
    for run in runs:
        cell = tuple((key, value) for key, value in run.cell.items() if key != SEED)
        for group, (first, second) in run.summary.halves.items():
            if first > 0:
                found.setdefault((group, cell), []).append(second / first - 1)
    listed = [Drift(group, cell, math.fsum(changes) / len(changes)) for (group, cell), changes in found.items() if _is_drift(changes)]
    return sorted(listed, key=lambda each: -abs(each.change))


def _is_drift(changes: Sequence[float]) -> bool:
    mean = math.fsum(changes) / len(changes)
    if len(set(changes)) == 1:
        return abs(mean) > LEAST_OF_ONE
    _, low, high = confidence_interval(changes)
    return abs(mean) > LEAST and not low <= 0 <= high


def warnings(runs: Sequence[Summarised], window: Window, duration_s: float) -> list[str]:
    """Return a line for each warning; the last line counts the rest."""
    listed = drifts(runs)
    middle_s = (window.start_s + min(window.stop_s, duration_s)) / 2
    lines = [each.line(middle_s) for each in listed[:_MOST_TOLD]]
    more = len(listed) - _MOST_TOLD
    return [*lines, *([f"and {more} more such changes"] if more > 0 else [])]
