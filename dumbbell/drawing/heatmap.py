"""Heat maps over bandwidth and delay, such as dumbbell's values, the published ones and their difference."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.drawing.style import MISSING_COLOUR, Size, figure_of, styled, with_fixed_layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure


_TALLEST_CELL = 0.06
"""Height of a cell, inches a point of the font: fewer cells are wide rather than high."""
_EM = 0.55
"""Width of a character of text, on average, in em."""
_ROUND = (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)
"""Candidate ticks of a logarithmic colour bar."""


@dataclass(frozen=True)
class Scale:
    """A colour scale, which all panels of a quantity share."""

    label: str
    low: float
    high: float
    map: str
    logarithmic: bool = False
    clipped: bool = True
    """True if there may be values beyond the limits."""


@dataclass(frozen=True)
class Grid:
    """One panel: (row, column) -> value. Cells without a value are drawn as missing."""

    title: str
    shade: Mapping[tuple[float, float], float]
    """The values that determine the colours."""
    text: Mapping[tuple[float, float], str]
    """The texts written in the cells."""
    scale: Scale
    outlined: frozenset[tuple[float, float]] = frozenset()
    """Cells drawn with a frame."""


@dataclass(frozen=True)
class Axis:
    """The values along one axis, in order, and its label."""

    label: str
    values: Sequence[float]
    labels: Sequence[str] = ()
    """Labels of the values, if they are not the numbers themselves."""

    @property
    def texts(self) -> Sequence[str]:
        """Return the labels of the values."""
        return self.labels or [f"{value:g}" for value in self.values]


def heatmaps(title: str, note: str, panels: Sequence[Sequence[Grid]], rows: Axis, columns: Axis, size: Size) -> Figure:
    """Draw rows of panels, in one column of a paper all below each other; neighbours with the same scale share one colour bar.

    The first row value is drawn at the bottom.
    """
    with styled(size) as geometry:
        if size == "one-column":
            panels = [[grid] for grids in panels for grid in grids]
        width = max(map(len, panels))
        bars = sum(left.scale != right.scale for left, right in pairwise(panels[0])) + 1
        wide = geometry.width * (1 - 0.085 * bars) / (width * (len(columns.values) + 0.5))
        cell = min(wide, _TALLEST_CELL * geometry.font)
        text_height = geometry.font / 72
        room = max(6, int(cell * len(rows.values) / (_EM * text_height)))
        rows = replace(rows, label=_folded(rows.label, room))
        title_lines = sum(1 + max(grid.title.count("\n") for grid in grids) for grids in panels)
        notes = textwrap.wrap(note, max(30, int(geometry.width / (text_height * 0.9 * _EM))))
        heads = geometry.title(title).split("\n")
        height = len(panels) * (cell * len(rows.values) + 3.4 * text_height)
        height += (4 + 1.3 * title_lines + 1.6 * max(len(heads) - 1, 0) + 1.1 * max(len(notes), 1)) * text_height
        figure, axes = figure_of(len(panels), width, geometry.width, height)
        figure.suptitle("\n".join(heads), x=0.01, ha="left", fontweight="bold")
        for number, (row, grids) in enumerate(zip(axes, panels, strict=True)):
            start = 0
            for index, (axis, grid) in enumerate(zip(row, grids, strict=False)):
                image = _panel(axis, grid, rows, columns, first=index == 0, last=number + 1 == len(panels))
                if cell < wide:
                    axis.set_aspect("auto")
                if index + 1 == len(grids) or grids[index + 1].scale != grid.scale:
                    bar = figure.colorbar(
                        image,
                        extend="both" if grid.scale.clipped else "neither",
                        ax=list(row[start : index + 1]),
                        pad=0.012,
                        aspect=28,
                        shrink=0.96,
                    )
                    bar.set_label(_folded(grid.scale.label, room))
                    bar.outline.set_linewidth(0.4)
                    if grid.scale.logarithmic:
                        decades = [value for value in _ROUND if grid.scale.low <= value <= grid.scale.high]
                        bar.set_ticks(decades, labels=[f"{value:g}" for value in decades])
                        bar.minorticks_off()
                    start = index + 1
            for axis in row[len(grids) :]:
                axis.set_visible(False)
        if note:
            figure.supxlabel("\n".join(notes), x=0.01, ha="left", fontsize=geometry.font * 0.9, color="#444444")
        with_fixed_layout(figure)
        for row, grids in zip(axes, panels, strict=True):
            for axis, grid in zip(row, grids, strict=False):
                _fit_texts(axis, grid, columns, geometry.font)
        return figure


def _folded(label: str, most: int) -> str:
    """Return a label in lines of at most this many characters if it can be broken there: at spaces, and behind the dots of a key."""
    lines = [""]
    for part in re.split(r"(?<=[. ])", label):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > most:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def _panel(axis: Axes, grid: Grid, rows: Axis, columns: Axis, first: bool, last: bool) -> ScalarMappable:
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.patches import Rectangle

    scale = grid.scale
    norm = LogNorm(scale.low, scale.high) if scale.logarithmic else Normalize(scale.low, scale.high)
    colours = colormaps[scale.map].with_extremes(bad=MISSING_COLOUR)
    shade = np.array([[grid.shade.get((r, c), math.nan) for c in columns.values] for r in rows.values])
    if scale.logarithmic:
        shade = np.where(shade > scale.low, shade, np.where(np.isnan(shade), math.nan, scale.low))
    edges = [np.arange(len(part.values) + 1) - 0.5 for part in (columns, rows)]
    image = axis.pcolormesh(*edges, np.ma.masked_invalid(shade), norm=norm, cmap=colours, edgecolors="white", linewidth=0.8)
    axis.set_aspect("equal")
    for i, r in enumerate(rows.values):
        for j, c in enumerate(columns.values):
            text = grid.text.get((r, c))
            if text is None:
                axis.text(j, i, "·", ha="center", va="center", color="#AAAAAA", in_layout=False)
                continue
            red, green, blue, _ = colours(float(norm(shade[i, j])))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
            axis.text(j, i, text, ha="center", va="center", color="white" if dark else "#111111", in_layout=False)
            if (r, c) in grid.outlined:
                axis.add_patch(Rectangle((j - 0.46, i - 0.46), 0.92, 0.92, fill=False, edgecolor="#111111", linewidth=1.1))
    axis.set_xticks(range(len(columns.values)), columns.texts)
    axis.set_yticks(range(len(rows.values)), rows.texts if first else [])
    axis.tick_params(length=0)
    for spine in axis.spines.values():
        spine.set_visible(False)
    axis.set_title(grid.title, loc="left")
    if first:
        axis.set_ylabel(rows.label)
    if last:
        axis.set_xlabel(columns.label)
    return image


def _fit_texts(axis: Axes, grid: Grid, columns: Axis, font: float) -> None:
    """Make the texts in the cells as large as the cells allow, but smaller than other text."""
    longest = max((len(text) for text in grid.text.values()), default=1)
    cell_points = axis.get_window_extent().width / axis.figure.dpi * 72 / len(columns.values)
    # A digit is 0.636 em wide; a tenth of the cell stays free.
    size = min(0.95 * font, 0.9 * cell_points / (0.6 * max(longest, 3)))
    for text in axis.texts:
        text.set_fontsize(size)
    words = max(3, *(len(text) for text in columns.texts))
    axis.tick_params(axis="x", labelsize=min(0.9 * font, 0.9 * cell_points / (0.636 * (words if columns.labels else 3))))
