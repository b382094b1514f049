"""Differences of two folders: a panel a metric, a row a cell, each with its 95 % interval, and a line at no difference."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dumbbell.comparing.folders import Compared, Comparison
from dumbbell.drawing.layout import figure_of, head, set_head, with_fixed_layout
from dumbbell.drawing.style import Size, styled
from dumbbell.errors import BadInput, printable
from dumbbell.results.columns import bare, unit_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_PANELS, _MOST_ROWS = 4, 40
_STANDS, _MAY_BE_CHANCE = "#c0392b", "#7f8c8d"


def forest(found: Comparison, size: Size = "screen", title: str | None = None) -> Figure:
    """Draw a comparison: the metrics with the surest differences first, at most four, and at most 40 cells.

    Red differences remain after the correction for many comparisons, grey ones may be chance. Raises `BadInput` if no metric differs in
    any cell.
    """
    metrics = _metrics(found)
    if not metrics:
        raise BadInput(f"{found.labels[0]} and {found.labels[1]} differ in no number; expected runs with a difference to draw")
    places = list(dict.fromkeys(each.place for each in found.compared if each.metric in metrics))[:_MOST_ROWS]
    at = {(each.place, each.metric): each for each in found.compared}
    with styled(size) as geometry:
        height = geometry.tall * (0.2 + min(0.045 * len(places), 1.6))
        figure, axes = figure_of(1, len(metrics), geometry.width, height, sharey=True)
        set_head(figure, head(title or f"{found.labels[1]} minus {found.labels[0]}", geometry))
        for axis, metric in zip(axes[0], metrics, strict=True):
            for row, place in enumerate(reversed(places)):
                if (each := at.get((place, metric))) is not None:
                    colour = _STANDS if each.stands else _MAY_BE_CHANCE
                    if not math.isnan(each.low):
                        axis.plot([each.low, each.high], [row, row], color=colour, linewidth=geometry.line)
                    axis.plot([each.difference], [row], marker="o", color=colour, markersize=3 * geometry.line)
            axis.axvline(0, color="#888888", linewidth=0.7, linestyle=(0, (1, 2)))
            unit = unit_of(metric)
            axis.set_xlabel(f"{bare(metric).replace('_', ' ')}{f' ({unit})' if unit else ''}")
            axis.set_yticks(range(len(places)), [printable(_named(place)) for place in reversed(places)])
            axis.grid(True, axis="x")
            axis.set_axisbelow(True)
        return with_fixed_layout(figure)


def _metrics(found: Comparison) -> list[str]:
    """The metrics that differ somewhere, the one that stands in most cells first."""

    def rank(each: Compared) -> tuple[bool, float]:
        return each.stands, -1.0 if math.isnan(each.p) else -each.p

    best: dict[str, tuple[bool, float]] = {}
    for each in found.compared:
        if each.difference:
            best[each.metric] = max(best.get(each.metric, (False, -2.0)), rank(each))
    return sorted(best, key=lambda metric: best[metric], reverse=True)[:_MOST_PANELS]


def _named(place: tuple[tuple[str, object], ...]) -> str:
    return ", ".join(str(value) for _, value in place if value != "") or "run"
