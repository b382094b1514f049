"""A heat map of a column over two swept keys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dumbbell.comparing.across.estimates import Estimate, by_run, estimate
from dumbbell.comparing.across.questions import Settled
from dumbbell.drawing.across.sheet import panels_of, values_of
from dumbbell.drawing.across.wording import Wording
from dumbbell.drawing.heatmap import Axis, Grid, Scale, heatmaps
from dumbbell.drawing.style import GEOMETRY, Size
from dumbbell.results.columns import as_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NARROWEST_CELL = 0.33
"""Inches, at the font of print: three digits fit."""


def heat_map(settled: Settled, title: str, note: str, wording: Wording, size: Size) -> Figure:
    """The figure."""
    columns, rows = values_of(settled, settled.x), values_of(settled, settled.by[0])
    if as_numbers(rows) is None:
        rows = rows[::-1]  # numbers rise with the axis, words are read from above
    grids = []
    for line in panels_of(settled, wording):
        found = []
        for panel in line:
            cells = {}
            for i, row in enumerate(rows):
                for j, column in enumerate(columns):
                    inside = [each for group in panel.groups for each in group.found if each.at.get(settled.by[0], "") == row]
                    inside = [each for each in inside if each.at.get(settled.x, "") == column]
                    cell = estimate(by_run((each.run, each.values.get(panel.y, math.nan)) for each in inside), settled.statistic)
                    if cell.count:
                        cells[float(i), float(j)] = cell
            found.append((panel, cells))
        centres = [cell.centre for _, cells in found for cell in cells.values()]
        low, high = min(centres), max(centres)
        scale = Scale(wording.y_label or wording.column(settled, line[0].y), low, high if high > low else low + 1, "viridis", clipped=False)
        grids += [
            Grid(
                panel.title or (wording.column(settled, panel.y) if len(settled.y) > 1 else ""),
                {place: cell.centre for place, cell in cells.items()},
                _texts(cells),
                scale,
            )
            for panel, cells in found
        ]
    geometry = GEOMETRY[size]
    wide = max(1, int(0.85 * geometry.width / (_NARROWEST_CELL * geometry.font / 7 * max(len(columns), 2))))
    wide = min(wide, len(grids)) if len(settled.y) == 1 else 1
    lines = [grids[i : i + wide] for i in range(0, len(grids), wide)]
    axes = [_axis(settled, wording, key, values) for key, values in ((settled.by[0], rows), (settled.x, columns))]
    if wording.x_label:
        axes[1] = Axis(wording.x_label, axes[1].values, axes[1].labels)
    return heatmaps(title, note, lines, axes[0], axes[1], size)


def _texts(cells: Mapping[tuple[float, float], Estimate]) -> dict[tuple[float, float], str]:
    """Return the centres to three digits, with zeros at the end; whole numbers, and numbers above 100, have no fraction."""
    whole = all(cell.centre == int(cell.centre) for cell in cells.values())

    def text(value: float) -> str:
        places = 0 if whole or not value else min(max(2 - math.floor(math.log10(abs(value))), 0), 4)
        return f"{value:.{places}f}"

    return {place: text(cell.centre) for place, cell in cells.items()}


def _axis(settled: Settled, wording: Wording, key: str, values: list[object]) -> Axis:
    numbers = as_numbers(values)
    name = wording.key(settled, key)
    label = f"{name} ({numbers[1]})" if numbers and numbers[1] else name
    labels = [f"{number:g}" for number in numbers[0]] if numbers else [wording.of(value) for value in values]
    return Axis(label, [float(i) for i in range(len(values))], labels)
