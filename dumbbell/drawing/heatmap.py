"""Heat maps over bandwidth and delay, such as dumbbell's values, the published ones and their difference."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.drawing.layout import figure_of, head, set_head, with_fixed_layout
from dumbbell.drawing.style import MISSING_COLOUR, Geometry, Size, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure


_TALLEST_CELL = 0.06
"""Height of a cell, inches a point of the font: fewer cells are wide rather than high."""
_LOWEST_CELL = 0.0165
"""Minimum height of a cell, inches a point of the font, as long as fewer rows of panels are possible."""
_NARROWEST_CELL = 0.0185
"""Minimum width of a cell, inches a point of the font: three digits fit."""
_NARROW_IN = 5.0
"""In figures narrower than this, panels lie below each other."""
_PAGE_IN = 9.0
"""Maximum height of a figure of a paper, inches."""
_SMALLEST = 3.5
"""Points of the smallest text in cells."""
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
    """Draw rows of panels; neighbours with the same scale share one colour bar, and rows one if all their panels have the same scale.

    In one column of a paper as few panels lie next to each other as the height of a page allows. The first row value is drawn at the
    bottom.
    """
    with styled(size) as geometry:
        notes = textwrap.wrap(note, max(30, int(geometry.width / (geometry.font / 72 * 0.9 * _EM))))
        heads = head(title, geometry)
        panels, high = _arranged(panels, rows, columns, geometry, len(notes) + 1.3 * (heads.count("\n") + 1 if heads else 0))
        figure, axes = figure_of(len(panels), max(map(len, panels)), geometry.width, high)
        set_head(figure, heads)
        for number, (row, grids) in enumerate(zip(axes, panels, strict=True)):
            for index, (axis, grid) in enumerate(zip(row, grids, strict=False)):
                below = number + 1 < len(panels) and index < len(panels[number + 1])
                _panel(axis, grid, rows, columns, first=index == 0, last=not below)
            for axis in row[len(grids) :]:
                axis.set_visible(False)
        for beside, scale in _bars(axes, panels):
            _bar(figure, beside, scale)
        if notes:
            figure.supxlabel("\n".join(notes), x=0.01, ha="left", fontsize=geometry.font * 0.9, color="#444444")
        with_fixed_layout(figure)
        for row, grids in zip(axes, panels, strict=True):
            for axis, grid in zip(row, grids, strict=False):
                _fit_texts(axis, grid, rows, columns, geometry.font)
        return figure


def _arranged(
    panels: Sequence[Sequence[Grid]], rows: Axis, columns: Axis, geometry: Geometry, lines: float
) -> tuple[Sequence[Sequence[Grid]], float]:
    """Return the rows of panels and the height of the figure (inches); `lines`: those of text above and below the panels."""
    line = geometry.font / 72
    widest = max(map(len, panels))
    narrowest = _NARROWEST_CELL * geometry.font * len(columns.values)
    found: tuple[Sequence[Sequence[Grid]], float] = panels, 0.0
    for abreast in range(1 if geometry.width < _NARROW_IN else widest, widest + 1):
        folded = _folded(panels, abreast)
        bars = 1 + sum(left.scale != right.scale for left, right in pairwise(folded[0]))
        room = geometry.width - 5.5 * line - bars * 7 * line
        if found[1] and room / abreast < narrowest:
            break
        texts = sum(1.8 + 1.25 * max(_title_lines(grid, room / abreast, line) for grid in grids) for grids in folded)
        rest = (texts + 1.25 * lines + 3.5) * line
        cell = min(room / abreast / len(columns.values), _TALLEST_CELL * geometry.font)
        fits = (_PAGE_IN - rest) / (len(folded) * len(rows.values)) if geometry.of_paper else cell
        found = folded, rest + min(cell, fits) * len(folded) * len(rows.values)
        if fits >= _LOWEST_CELL * geometry.font:
            break
    return found


def _folded(panels: Sequence[Sequence[Grid]], abreast: int) -> list[list[Grid]]:
    """Each row in rows of at most so many. Panels of one scale fill the rows, those of several begin a new one where they did."""
    same = len({grid.scale for row in panels for grid in row}) == 1
    rows = [[grid for row in panels for grid in row]] if same and max(map(len, panels)) > abreast else panels
    return [list(row[first : first + abreast]) for row in rows for first in range(0, len(row), abreast)]


def _title_lines(grid: Grid, wide: float, line: float) -> int:
    return sum(math.ceil(len(part) * 1.05 * _EM * line / wide) for part in grid.title.split("\n"))


def _bars(axes: np.ndarray, panels: Sequence[Sequence[Grid]]) -> Iterator[tuple[list[Axes], Scale]]:
    """The axes that share a colour bar, with their scale."""
    rows: list[tuple[list[Axes], Scale]] = []
    for row, grids in zip(axes, panels, strict=True):
        start = 0
        for index, grid in enumerate(grids):
            if index + 1 < len(grids) and grids[index + 1].scale == grid.scale:
                continue
            alone = start == 0 and index + 1 == len(grids)
            if alone and rows and rows[-1][1] == grid.scale and len(rows[-1][0]) % len(row) == 0:
                rows[-1][0].extend(row)
            else:
                rows.append((list(row if alone else row[start : index + 1]), grid.scale))
            start = index + 1
    yield from rows


def _bar(figure: Figure, beside: list[Axes], scale: Scale) -> None:
    from matplotlib.cm import ScalarMappable

    norm, colours = _colours(scale)
    high = len({axis.get_subplotspec().rowspan.start for axis in beside})  # type: ignore[union-attr]
    mappable = ScalarMappable(norm, colours)
    bar = figure.colorbar(mappable, extend="both" if scale.clipped else "neither", ax=beside, pad=0.012, aspect=28 * high**0.5, shrink=0.96)
    bar.set_label(scale.label)
    bar.outline.set_linewidth(0.4)
    if scale.logarithmic:
        decades = [value for value in _ROUND if scale.low <= value <= scale.high]
        bar.set_ticks(decades, labels=[f"{value:g}" for value in decades])
        bar.minorticks_off()


def _colours(scale: Scale) -> tuple[Normalize, Colormap]:
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm, Normalize

    norm = LogNorm(scale.low, scale.high) if scale.logarithmic else Normalize(scale.low, scale.high)
    return norm, colormaps[scale.map].with_extremes(bad=MISSING_COLOUR)


def _panel(axis: Axes, grid: Grid, rows: Axis, columns: Axis, first: bool, last: bool) -> None:
    from matplotlib.patches import Rectangle

    scale = grid.scale
    norm, colours = _colours(scale)
    shade = np.array([[grid.shade.get((r, c), math.nan) for c in columns.values] for r in rows.values])
    if scale.logarithmic:
        shade = np.where(shade > scale.low, shade, np.where(np.isnan(shade), math.nan, scale.low))
    edges = [np.arange(len(part.values) + 1) - 0.5 for part in (columns, rows)]
    axis.pcolormesh(*edges, np.ma.masked_invalid(shade), norm=norm, cmap=colours, edgecolors="white", linewidth=0.8)
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


def _fit_texts(axis: Axes, grid: Grid, rows: Axis, columns: Axis, font: float) -> None:
    """Make the texts in the cells as large as the cells allow, but smaller than other text. Without room for them colours must do."""
    longest = max((len(text) for text in grid.text.values()), default=1)
    points = 72 / axis.figure.dpi
    wide = axis.get_window_extent().width * points / len(columns.values)
    high = axis.get_window_extent().height * points / len(rows.values)
    # A digit is 0.636 em wide and a line 1.2 em high; a tenth of the cell stays free.
    size = min(0.95 * font, 0.9 * wide / (0.636 * max(longest, 2)), 0.9 * high / 1.1)
    for text in axis.texts:
        text.set_fontsize(size)
        text.set_visible(size >= _SMALLEST)
    words = max(map(len, columns.texts))
    axis.tick_params(axis="x", labelsize=min(0.9 * font, 0.95 * wide / (0.636 * words)))
    axis.tick_params(axis="y", labelsize=min(0.9 * font, high / 1.2))
