"""The difference between dumbbell's values (`ours`) and reference values (`theirs`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dumbbell.comparing.format import Format, KeyValue, Measured, Tolerance
from dumbbell.comparing.reference import ReferenceValue

WORST = 10
"""Number of cells listed as the worst."""
ROUNDING = 1e-9
"""Slack for decimal fractions that are not exact as binary floats."""
SPREAD_REPEATS = 3
"""Minimum number of runs for a spread."""


@dataclass(frozen=True)
class Cell:
    """A value of dumbbell's and the reference value."""

    key: Mapping[str, KeyValue]
    metric: str
    ours: float
    """Our value: the metric's centre over seeds, by default the median."""
    theirs: float
    allowed: float
    """The tolerance of this cell, in the metric's unit."""
    informative: bool
    chaotic: bool
    low: float
    """Minimum of dumbbell's values over seeds."""
    high: float
    """Maximum of dumbbell's values over seeds."""
    repeats: int
    spread: tuple[float, float] | None = None
    """Minimum and maximum of the reference over its seeds; None if it has none."""
    floor: float = 0.0
    """Minimum denominator of the relative difference."""
    fault: str = ""
    """Known error in the reference value, in words; empty if there is none."""

    @property
    def error(self) -> float:
        """Return `ours` - `theirs`."""
        return self.ours - self.theirs

    @property
    def relative(self) -> float:
        """Return `|ours - theirs|` / `max(|theirs|, floor)`; infinite if the denominator is 0 and `ours` is not."""
        to = max(abs(self.theirs), self.floor)
        if to == 0:
            return 0.0 if self.ours == 0 else math.inf
        return abs(self.error / to)

    @property
    def range(self) -> float:
        """Return maximum minus minimum of dumbbell's values over seeds."""
        return self.high - self.low

    @property
    def error_in_tolerances(self) -> float:
        """Return `|ours - theirs|` / tolerance: 1 is just within."""
        if self.allowed == 0:
            return 0.0 if self.error == 0 else math.inf
        return abs(self.error) / self.allowed

    @property
    def within(self) -> bool:
        """True if dumbbell's value is within tolerance of the reference."""
        return abs(self.error) <= self.allowed + ROUNDING

    @property
    def inside(self) -> bool | None:
        """True if dumbbell's value is within the reference's range over its runs; None if the reference has one run."""
        return None if self.spread is None else self.spread[0] - ROUNDING <= self.ours <= self.spread[1] + ROUNDING

    @property
    def within_spread(self) -> bool:
        """True if `within`. A chaotic cell also agrees if the published value, widened by the tolerance, overlaps dumbbell's range over
        seeds."""
        if self.chaotic and self.repeats >= SPREAD_REPEATS:
            return self.low - self.allowed - ROUNDING <= self.theirs <= self.high + self.allowed + ROUNDING
        return self.within

    def as_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            **self.key,
            "metric": self.metric,
            "ours": self.ours,
            "reference": self.theirs,
            "error": self.error,
            "relative": _finite(self.relative),
            "tolerance": self.allowed,
            "within": self.within,
            "informative": self.informative,
            "chaotic": self.chaotic,
            "low": self.low,
            "high": self.high,
            "repeats": self.repeats,
            **({"fault": self.fault} if self.fault else {}),
            **({} if self.spread is None else {"reference_low": self.spread[0], "reference_high": self.spread[1], "inside": self.inside}),
        }


@dataclass(frozen=True)
class MetricDifference:
    """All cells of one metric."""

    metric: str
    tolerance: Tolerance
    expected: int
    """Number of reference values."""
    cells: tuple[Cell, ...]
    """The cells for which dumbbell has a run."""

    @property
    def informative(self) -> tuple[Cell, ...]:
        """The cells whose published value is informative, see `Metric`."""
        return tuple(cell for cell in self.cells if cell.informative)

    def as_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        informative = self.informative
        return {
            "expected": self.expected,
            "cells": len(self.cells),
            "missing": self.expected - len(self.cells),
            "tolerance": str(self.tolerance),
            **_summary(self.cells),
            **_spread(self.cells),
            "share_within_spread": share(self.cells, lambda cell: cell.within_spread),
            "chaotic": sum(cell.chaotic for cell in self.cells),
            "informative": {"cells": len(informative), **_summary(informative)},
        }


@dataclass(frozen=True)
class Difference:
    """The differences from a whole reference."""

    metrics: Mapping[str, MetricDifference]

    @property
    def cells(self) -> list[Cell]:
        """All compared cells."""
        return [cell for metric in self.metrics.values() for cell in metric.cells]

    def cells_of(self, metric: str) -> Sequence[Cell]:
        """The compared cells of one metric; none if the reference lacks it."""
        return self.metrics[metric].cells if metric in self.metrics else ()

    @property
    def worst(self) -> list[Cell]:
        """The cells with the largest differences, in units of the tolerance."""
        return sorted(self.cells, key=lambda cell: cell.error_in_tolerances, reverse=True)[:WORST]

    @property
    def by_key(self) -> list[list[Cell]]:
        """The compared values grouped by cell, in the reference's order."""
        groups: dict[tuple[KeyValue, ...], list[Cell]] = {}
        for cell in self.cells:
            groups.setdefault(tuple(cell.key.values()), []).append(cell)
        return list(groups.values())

    @property
    def share_all_metrics(self) -> float | None:
        """Share of the cells with every metric within tolerance."""
        groups = self.by_key
        return sum(all(cell.within for cell in group) for group in groups) / len(groups) if groups else None

    def as_json(self) -> dict[str, Any]:
        """Plain data for JSON: `metrics`, `all_metrics` and `worst`."""
        return {
            "metrics": {name: metric.as_json() for name, metric in self.metrics.items()},
            "all_metrics": {"cells": len(self.by_key), "share_within": self.share_all_metrics},
            "worst": [cell.as_json() for cell in self.worst],
        }


def difference(
    measured: Measured, reference: Iterable[ReferenceValue], format_: Format, tolerances: Mapping[str, Tolerance] | None = None
) -> Difference:
    """Compare dumbbell's values with the reference values of a format.

    Reference values for which dumbbell has no finite value count as missing; cells of dumbbell's that the reference lacks are ignored.
    `tolerances` override those of the format, by metric.
    """
    given = tolerances or {}
    expected: dict[str, int] = {}
    cells: dict[str, list[Cell]] = {}
    for item in reference:
        metric = format_.metrics[item.metric]
        expected[item.metric] = expected.get(item.metric, 0) + 1
        cells.setdefault(item.metric, [])
        ours = [value for value in measured.get((item.key, item.metric), []) if math.isfinite(value)]
        if not ours:
            continue
        key = format_.named(item.key)
        cells[item.metric].append(
            Cell(
                key=key,
                metric=item.metric,
                ours=float(metric.centre(ours)),
                theirs=item.value,
                allowed=given.get(item.metric, metric.tolerance_at(key)).allowed(item.value, key),
                informative=metric.informative(item.value, key),
                chaotic=format_.loose(item.key, item.metric),
                low=min(ours),
                high=max(ours),
                repeats=len(ours),
                spread=item.spread,
                floor=metric.floor,
                fault=format_.fault(item.key, item.metric),
            )
        )
    return Difference(
        {
            name: MetricDifference(name, given.get(name, metric.tolerance), expected[name], tuple(cells[name]))
            for name, metric in format_.metrics.items()
            if name in expected
        }
    )


def below_bar(found: Difference, format_: Format) -> list[str]:
    """The targets of a format that are not met, one line each. Chaotic cells are judged as in `Cell.within_spread`."""
    lines = []

    def judge(what: str, reached: float | None, bar: float | None) -> None:
        if bar is not None and not meets(reached, bar):
            lines.append(
                f"{what}: {'no cells' if reached is None else f'{100 * reached:.1f} %'} within tolerance, the target is {100 * bar:g} %"
            )

    for name, compared in found.metrics.items():
        metric = format_.metrics[name]
        judge(name, judged_share(compared.cells), metric.bar)
        judge(f"{name}, informative cells", judged_share(compared.informative), metric.informative_bar)
    judge("every metric of a cell", found.share_all_metrics, format_.all_metrics_bar)
    return lines


def judged_share(cells: Sequence[Cell]) -> float | None:
    """The share of the cells that targets judge, see `Cell.within_spread`; None without cells."""
    return share(cells, lambda cell: cell.within_spread)


def meets(reached: float | None, bar: float) -> bool:
    """True if a share reaches its target. Without cells it does not."""
    return reached is not None and reached >= bar


def share(cells: Sequence[Cell], holds: Callable[[Cell], bool]) -> float | None:
    """Share of the cells that satisfy a condition; None without cells."""
    return sum(map(holds, cells)) / len(cells) if cells else None


def _summary(cells: Sequence[Cell]) -> dict[str, float | None]:
    absolute = [abs(cell.error) for cell in cells]
    relative = [cell.relative for cell in cells if math.isfinite(cell.relative)]
    return {
        "share_within": share(cells, lambda cell: cell.within),
        "median_abs": _quantile(absolute, 50),
        "p95_abs": _quantile(absolute, 95),
        "median_rel": _quantile(relative, 50),
        "p95_rel": _quantile(relative, 95),
    }


def _spread(cells: Sequence[Cell]) -> dict[str, Any]:
    """Statistics of the ranges of dumbbell's values over seeds; empty if there is one seed."""
    ranges = [cell.range for cell in cells if cell.repeats > 1]
    if not ranges:
        return {}
    return {
        "spread": {
            "cells": len(ranges),
            "median": _quantile(ranges, 50),
            "p95": _quantile(ranges, 95),
            "share_beyond_tolerance": share([cell for cell in cells if cell.repeats > 1], lambda cell: cell.range > cell.allowed),
        }
    }


def _quantile(values: Sequence[float], q: float) -> float | None:
    return float(np.percentile(values, q)) if values else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
