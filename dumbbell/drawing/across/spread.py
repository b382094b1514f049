"""Distributions: boxes by the values of a key, and empirical distribution functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.comparing.across.observations import Observation
from dumbbell.comparing.across.questions import Settled
from dumbbell.drawing.across.lines import key_label, word_ticks
from dumbbell.drawing.across.looks import looks
from dumbbell.drawing.across.scales import Scales
from dumbbell.drawing.across.sheet import Sheet, legend_handles, legend_title, panels_of, values_of
from dumbbell.drawing.across.wording import Wording
from dumbbell.drawing.layout import decades
from dumbbell.drawing.style import Size, styled
from dumbbell.metrics import Array, distribution
from dumbbell.results.columns import as_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_STEPS = 5_000
"""Maximum number of steps of a distribution function. With more values, it draws that many values at equal shares, with the minimum and the
maximum."""


def boxes(settled: Settled, title: str, note: str, wording: Wording, scales: Scales, size: Size) -> Figure:
    """Boxes from the first to the third quartile with the median, whiskers to the furthest value within 1.5 times their distance, and the
    values beyond as points (Tukey, Exploratory Data Analysis, 1977).
    """
    levels = values_of(settled, settled.x) if settled.x else [""]
    own = looks(settled.x, levels) if not settled.by else []
    with styled(size) as geometry:
        sheet = Sheet(title, note, panels_of(settled, wording), size, geometry, scales)
        for axis, panel in sheet.panels:
            width = 0.8 / max(len(panel.groups), 1)
            for number, group in enumerate(panel.groups):
                beside = width * (number - (len(panel.groups) - 1) / 2)
                for i, level in enumerate(levels):
                    values = values_at([each for each in group.found if not settled.x or each.at.get(settled.x, "") == level], panel.y)
                    if not values.size:
                        continue
                    look = own[i] if own else group.look
                    drawn = axis.boxplot(
                        [values],
                        positions=[i + beside],
                        widths=0.8 * width,
                        patch_artist=True,
                        manage_ticks=False,
                        flierprops={"marker": ".", "markersize": 2.5 * geometry.line, "markeredgecolor": look.colour},
                        medianprops={"color": "#111111", "linewidth": 1.3 * geometry.line},
                        whiskerprops={"color": look.colour, "linewidth": geometry.line},
                        capprops={"color": look.colour, "linewidth": geometry.line},
                    )
                    drawn["boxes"][0].set(linewidth=geometry.line, **look.filling())
            sheet.label_y(axis, panel, wording.y_label or wording.column(settled, panel.y))
            labels = _labels(settled, wording, levels)
            word_ticks(axis, labels, sheet.panel_points, geometry.font)
            axis.set_xlim(-0.6, len(levels) - 0.4)
            axis.grid(False, axis="x")
            axis.tick_params(labelbottom=sheet.is_lowest(axis))
            if sheet.is_lowest(axis) and (settled.x or wording.x_label):
                numbers = as_numbers(levels)
                axis.set_xlabel(key_label(settled, wording, settled.x, numbers[1] if numbers else ""))
        sheet.same_heights()
        sheet.legend(legend_handles(settled, wording, geometry, "patch"), legend_title(settled, wording))
        return sheet.finished()


def distributions(settled: Settled, title: str, note: str, wording: Wording, scales: Scales, size: Size, share_of: str) -> Figure:
    """Draw empirical distribution functions, or their complements on a logarithmic axis, which show tails; `share_of` names the values."""
    complement = settled.kind == "ccdf"
    if complement:
        scales = replace(scales, log=scales.log | {"y"})
    with styled(size) as geometry:
        sheet = Sheet(title, note, panels_of(settled, wording), size, geometry, scales)
        fewest = 1.0
        for axis, panel in sheet.panels:
            for group in panel.groups:
                values = values_at(group.found, panel.y)
                if not values.size:
                    continue
                found, shares = _steps(values, complement)
                fewest = min(fewest, 1 / values.size)
                axis.step(
                    np.append(found[:1], found),
                    1 - np.append(0.0, shares) if complement else np.append(0.0, shares),
                    where="post",
                    color=group.look.colour,
                    linestyle=group.look.stroke,
                    linewidth=1.2 * geometry.line,
                )
            sheet.label_y(axis, panel, wording.y_label or f"share of {share_of}{' above' if complement else ''}")
            axis.set_xlabel(wording.x_label or wording.column(settled, panel.y))
        for y in settled.y:
            sheet.give_ticks(y, "x", *sheet.spread(y, "x"))
            for axis in (axis for axis, panel in sheet.panels if panel.y == y):
                axis.set_ylim(scales.ends("y", 0.5 * fewest if "y" in scales.log else 0.0, 1.0))
                if "y" in scales.log:
                    decades(axis, "y")
        sheet.legend(legend_handles(settled, wording, geometry, "step"), legend_title(settled, wording))
        return sheet.finished()


def values_at(found: Sequence[Observation], y: str) -> Array:
    """All values of observations, those of series included; those that are missing left out."""
    parts = [each.series[1] if each.series is not None else np.array([each.values.get(y, np.nan)]) for each in found]
    values: Array = np.concatenate([np.empty(0), *parts])
    there: Array = values[np.isfinite(values)]
    return there


def _steps(values: Array, complement: bool) -> tuple[Array, Array]:
    found, shares = distribution(values)
    if len(found) <= _MOST_STEPS:
        return found, shares
    chosen = np.linspace(0, len(found) - 1, _MOST_STEPS).astype(int)
    if complement:  # all of the tail, which a logarithmic axis shows
        chosen = np.union1d(chosen, len(found) - np.geomspace(1, len(found), _MOST_STEPS).astype(int))
    return found[chosen], shares[chosen]


def _labels(settled: Settled, wording: Wording, levels: Sequence[object]) -> list[str]:
    numbers = as_numbers(levels) if settled.x else None
    return [f"{value:g}" for value in numbers[0]] if numbers else [wording.of(level) if settled.x else "" for level in levels]
