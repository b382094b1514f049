"""Estimates over seeds: one number and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dumbbell import metrics

STATISTICS: Mapping[str, str] = {
    "mean": "mean, 95 % interval (Student's t)",
    "median": "median, 95 % interval (order statistics, from 6 seeds on)",
    "spread": "median, 5th to 95th percentile",
}
"""Statistics over several runs, with their descriptions in figures and tables. The first two need runs that differ only in the seed. The
third describes values of different conditions, for which an interval of a mean would say nothing."""
_SPREAD = (5, 95)


@dataclass(frozen=True)
class Estimate:
    """A number of runs. NaN where there is none."""

    centre: float
    low: float
    high: float
    count: int

    @property
    def has_interval(self) -> bool:
        """True if it has limits: there are several runs, and they differ."""
        return math.isfinite(self.low) and math.isfinite(self.high)


ONE = Estimate(math.nan, math.nan, math.nan, 1)
"""Estimate of one run."""


def estimate(values: Iterable[float], statistic: str) -> Estimate:
    """One of `STATISTICS` of the values that exist. The definitions are those of `dumbbell.metrics.statistics`."""
    there = np.array([value for value in values if not math.isnan(value)])
    if not there.size:
        return Estimate(math.nan, math.nan, math.nan, 0)
    if there.size == 1 or np.all(there == there[0]) or not np.all(np.isfinite(there)):
        # Equal runs are not independent, and an interval of no width would be a lie.
        centre = float(np.mean(there) if statistic == "mean" else np.median(there))
        return Estimate(centre, math.nan, math.nan, int(there.size))
    if statistic == "spread":
        low, high = np.percentile(there, _SPREAD)
        return Estimate(float(np.median(there)), float(low), float(high), int(there.size))
    interval = metrics.confidence_interval if statistic == "mean" else metrics.median_interval
    centre, low, high = interval(there.tolist())
    return Estimate(centre, low, high, int(there.size))


def by_run(pairs: Iterable[tuple[int, float]]) -> list[float]:
    """The mean of the values of each run: flows of one run share a queue and are no independent runs."""
    runs: dict[int, list[float]] = {}
    for run, value in pairs:
        if not math.isnan(value):
            runs.setdefault(run, []).append(value)
    return [math.fsum(values) / len(values) for values in runs.values()]


def rounded(found: Estimate) -> tuple[str, str, str]:
    """Centre and limits as text, to two digits of half the interval; without an interval to four digits."""
    if not found.count:
        return "", "", ""
    if not found.has_interval:
        return f"{found.centre:.4g}", "", ""
    half = (found.high - found.low) / 2
    places = max(0, 1 - math.floor(math.log10(half))) if half > 0 else 3
    return tuple(f"{value:.{min(places, 9)}f}" for value in (found.centre, found.low, found.high))  # type: ignore[return-value]


def plus_minus(number: Estimate, places: int) -> str:
    """Centre and half of the interval with this many decimals."""
    return f"{number.centre:.{places}f}±{(number.high - number.low) / 2:.{places}f}"


def counts(found: Sequence[Estimate]) -> str:
    """Return how many runs estimates rest on: `5 runs`, `3 to 5 runs`."""
    several = sorted({each.count for each in found if each.count})
    if not several:
        return "no runs"
    if len(several) == 1:
        return "one run" if several[0] == 1 else f"{several[0]} runs"
    return f"{several[0]} to {several[-1]} runs"
