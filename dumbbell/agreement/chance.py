"""How far apart two engines would be found by chance alone: the runs of a start change engines at random, and all else is done as before.

If nothing but chance kept the engines apart, either run of a start might as well be the other engine's (the sign-flip test of R. A. Fisher,
"The Design of Experiments", 1935, chapter III).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.agreement.measures import METRICS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dumbbell.agreement.comparison import Comparison
    from dumbbell.comparing.difference import Cell, Difference

EXCHANGES = 10_000
_SEED = 1
_ROUNDING = 1e-12
"""Slack for sums of the same numbers in another order."""
DEFINITION = (
    "the same difference where the two runs of a start are exchanged with probability 1/2, over the scenarios with several starts: the "
    f"median of {EXCHANGES:,} times (with a fixed seed), and in brackets how often it is as large as the one found there"
)


def by_chance(compared: Comparison, found: Difference, metrics: Collection[str]) -> dict[str, dict[str, Any]]:
    """Of these metrics, means over the starts, those that have cells with several starts: plain data, the same for equal runs."""
    starts = {name: count for name, count in Counter(reference.name for reference, _ in compared.pairs).items() if count > 1}
    if not starts:
        return {}
    draw = np.random.default_rng(_SEED)
    exchanged = {name: draw.random((EXCHANGES, count)) < 0.5 for name, count in starts.items()}
    results = {}
    for metric in metrics:
        cells = [
            (exchanged[str(cell.key["scenario"])], *values)
            for cell in found.cells_of(metric)
            if (values := _values(compared, cell, starts)) is not None
        ]
        if cells:
            results[metric] = _summary(cells, METRICS[metric].floor)
    return results


_Cell = tuple["NDArray[np.bool_]", "NDArray[np.float64]", "NDArray[np.float64]"]
"""What is exchanged, shape (exchanges, starts), and the values of the reference and ours, shape (starts,)."""


def _values(compared: Comparison, cell: Cell, starts: Mapping[str, int]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Of the reference and ours, start by start; None where there is one start, or a start has no value."""
    at = ((cell.key["scenario"], cell.key["entity"]), cell.metric)
    theirs, ours = (np.array(values.get(at, [])) for values in compared.values)
    whole = theirs.size == ours.size == starts.get(str(cell.key["scenario"]))
    return (theirs, ours) if whole and np.isfinite(theirs).all() and np.isfinite(ours).all() else None


def _summary(cells: Sequence[_Cell], floor: float) -> dict[str, Any]:
    by_cell = [relative(theirs, ours, exchanged, floor) for exchanged, theirs, ours in cells]
    asis = [relative(theirs, ours, np.zeros((1, theirs.size), dtype=bool), floor) for _, theirs, ours in cells]
    found: dict[str, Any] = {"cells": len(cells)}
    for statistic, percentile in (("median_rel", 50), ("p95_rel", 95)):
        expected, (observed,) = (np.percentile(np.array(each), percentile, axis=0) for each in (by_cell, asis))
        found[statistic] = {
            "expected": float(np.median(expected)),
            "found": float(observed),
            "as_large": float(np.mean(expected >= observed - _ROUNDING)),
        }
    return found


def relative(theirs: NDArray[np.float64], ours: NDArray[np.float64], exchanged: NDArray[np.bool_], floor: float) -> NDArray[np.float64]:
    """The relative difference of the means of (starts,) for each row of (exchanges, starts), as `Cell.relative` has it."""
    moved: NDArray[np.float64] = exchanged @ (ours - theirs) / theirs.size
    reference = theirs.mean() + moved
    apart: NDArray[np.float64] = np.abs(ours.mean() - moved - reference) / np.maximum(np.abs(reference), floor)
    return apart
