"""How far apart two engines would be found by chance alone: the runs of a start change engines at random, and all else is done as before.

If nothing but chance kept the engines apart, either run of a start might as well be the other engine's (the sign-flip test of R. A. Fisher,
"The Design of Experiments", 1935, chapter III). Where our engine has more starts, any of all runs might as well be the reference's (the
permutation test of the same book).
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
DEALS = 1_000
_SEED = 1
_ROUNDING = 1e-12
"""Slack for sums of the same numbers in another order."""
DEFINITION = (
    "the same difference where the two runs of a start are exchanged with probability 1/2, over the scenarios with several starts: the "
    f"median of {EXCHANGES:,} times (with a fixed seed), and in brackets how often it is as large as the one found there. Where one engine "
    f"has more starts, all runs are dealt out to the engines at random, {DEALS:,} times"
)


def by_chance(compared: Comparison, found: Difference, metrics: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return the differences by chance of these metrics, means over the starts, for those that have cells with several starts: plain data,
    the same for equal runs."""
    theirs = {name: count for name, count in Counter(reference.name for reference, _ in compared.pairs).items() if count > 1}
    if not theirs:
        return {}
    further = Counter(run.name for run in compared.further if run.status != "invalid")
    draw = np.random.default_rng(_SEED)
    many = EXCHANGES if not further else DEALS
    exchanged = {name: _exchanged(draw, many, count, further[name]) for name, count in theirs.items()}
    results = {}
    for metric in metrics:
        cells = [
            (exchanged[str(cell.key["scenario"])], *values)
            for cell in found.cells_of(metric)
            if (values := _values(compared, cell, theirs, further)) is not None
        ]
        if cells:
            results[metric] = _summary(cells, METRICS[metric].floor)
    return results


_Cell = tuple["NDArray[np.bool_]", "NDArray[np.float64]", "NDArray[np.float64]"]
"""The runs that are exchanged, shape (exchanges, starts), or dealt to the reference, shape (exchanges, runs of both). Then the values of
the reference and dumbbell's, shape (starts,) each."""


def _exchanged(draw: np.random.Generator, many: int, starts: int, further: int) -> NDArray[np.bool_]:
    """Starts whose runs change engines; with further runs of dumbbell's, the runs of both that are dealt to the reference."""
    if not further:
        return draw.random((many, starts)) < 0.5
    order = draw.permuted(np.tile(np.arange(2 * starts + further), (many, 1)), axis=1)
    return order < starts


def _values(
    compared: Comparison, cell: Cell, starts: Mapping[str, int], further: Mapping[str, int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """The values of the reference and dumbbell's; None where the reference has one start, or a run has no value."""
    at, name = ((cell.key["scenario"], cell.key["entity"]), cell.metric), str(cell.key["scenario"])
    theirs, ours = (np.array(values.get(at, [])) for values in compared.values)
    whole = name in starts and theirs.size == starts[name] and ours.size == starts[name] + further.get(name, 0)
    return (theirs, ours) if whole and np.isfinite(theirs).all() and np.isfinite(ours).all() else None


def _summary(cells: Sequence[_Cell], floor: float) -> dict[str, Any]:
    by_cell = [relative(theirs, ours, exchanged, floor) for exchanged, theirs, ours in cells]
    asis = [_apart(theirs.mean(), ours.mean(), floor)[None] for _, theirs, ours in cells]
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
    """The relative difference of the means of (starts,) for each row of `exchanged`, as `Cell.relative` has it."""
    if theirs.size == ours.size:
        moved: NDArray[np.float64] = exchanged @ (ours - theirs) / theirs.size
        return _apart(theirs.mean() + moved, ours.mean() - moved, floor)
    values = np.concatenate([theirs, ours])
    dealt: NDArray[np.float64] = exchanged @ values
    return _apart(dealt / theirs.size, (values.sum() - dealt) / ours.size, floor)


def _apart(reference: Any, ours: Any, floor: float) -> NDArray[np.float64]:
    return np.asarray(np.abs(ours - reference) / np.maximum(np.abs(reference), floor))
