"""Grids of panels over levels of a condition (RTTs, buffers, numbers of flows), of distribution functions, and of points."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dumbbell.drawing.layout import decades, figure_of, folded, head, legend_columns, paged, set_head, with_fixed_layout
from dumbbell.drawing.style import Geometry, Size, colour, marker, styled
from dumbbell.metrics import Array, Series, distribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


Panel = TypeVar("Panel")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z/%]*)")
_LOGARITHMIC = 8.0
"""From this ratio of the largest to the smallest level on, the axis of levels that are numbers is logarithmic."""
_NARROWEST_POINTS = 1.05
"""Minimum width of a panel with points, inches at the font of print."""


@dataclass(frozen=True)
class Curve:
    """Curve of one protocol."""

    label: str
    style: str
    """The congestion control whose colour and marker it has."""
    values: Sequence[float]
    """At each level, a mean over seeds; NaN where there is no run."""
    lows: Sequence[float]
    """Confidence limits; infinite where there is none."""
    highs: Sequence[float]
    published: Sequence[float] = ()
    """Reference values at each level, NaN where there is none; empty if there are none at all."""


@dataclass(frozen=True)
class LevelPanel:
    """One panel: a quantity over levels."""

    title: str
    quantity: str
    """Label of the y axis."""
    levels: Sequence[str]
    """Numbers, with or without a unit, stand at their places; words side by side."""
    curves: Sequence[Curve]
    x: str = ""
    """Label of the x axis."""
    logarithmic: bool = False
    """True if the y axis is."""


def level_panels(title: str, grid: Sequence[Sequence[LevelPanel]], size: Size) -> Figure:
    """Draw a grid of panels over levels. Lines, over words only markers, are dumbbell's values, error bars confidence intervals, hollow
    markers the published values."""
    with styled(size) as geometry:
        grid = folded(grid, geometry)
        figure, axes = _grid(title, len(grid), max(map(len, grid)), geometry)
        handles: dict[str, Line2D] = {}
        for axis, panel in _panels(axes, grid):
            numbers = _numbers(panel.levels)
            places = np.arange(len(panel.levels)) if numbers is None else np.array(numbers)
            for number, curve in enumerate(panel.curves):
                shift = 0.5 * (number - (len(panel.curves) - 1) / 2) / len(panel.curves) if numbers is None else 0.0
                beside = places + shift
                values = np.array(curve.values, dtype=float)
                reach = np.array([values - np.array(curve.lows, dtype=float), np.array(curve.highs, dtype=float) - values])
                reach[~np.isfinite(reach)] = 0.0
                look: dict[str, Any] = {"color": colour(curve.style), "marker": marker(curve.style), "markersize": 4 * geometry.line}
                joined = "none" if numbers is None else "-"
                drawn = axis.errorbar(
                    beside, values, reach, linestyle=joined, linewidth=geometry.line, elinewidth=0.7 * geometry.line, **look
                )
                handles.setdefault(curve.label, drawn.lines[0])
                if len(curve.published):
                    hollow = {**look, "markerfacecolor": "none", "linestyle": "none", "markersize": 6 * geometry.line}
                    handles.setdefault("published (hollow)", axis.plot(beside, curve.published, **hollow)[0])
            if numbers is not None and len(numbers) > 2 and max(numbers) >= _LOGARITHMIC * min(numbers) > 0:
                axis.set_xscale("log")
                axis.minorticks_off()
            axis.set_xticks(places, panel.levels)
            if panel.logarithmic:
                decades(axis, "y")
            axis.set_title(panel.title, loc="left")
            axis.set_xlabel(panel.x)
            axis.set_ylabel(panel.quantity)
        _once(axes, grid, lambda panel: panel.x)
        _legend(figure, handles, geometry)
        return with_fixed_layout(figure)


def _numbers(levels: Sequence[str]) -> list[float] | None:
    """The numbers of levels that have one each, all of one unit."""
    found = [_NUMBER.fullmatch(level) for level in levels]
    if not found or not all(found) or len({each[2] for each in found if each}) > 1:
        return None
    return [float(each[1]) for each in found if each]


def distribution_panels(
    title: str, grid: Sequence[Sequence[tuple[str, Sequence[tuple[str, str, Array]]]]], quantity: str, size: Size
) -> Figure:
    """Draws empirical distribution functions. Each panel is a title and its samples: label, congestion control of its look, values."""
    with styled(size) as geometry:
        grid = folded(grid, geometry)
        figure, axes = _grid(title, len(grid), max(map(len, grid)), geometry)
        handles: dict[str, Line2D] = {}
        for axis, (name, samples) in _panels(axes, grid):
            for label, style, values in samples:
                found, shares = distribution(values)
                drawn = axis.step(
                    np.append(found[:1], found), np.append(0.0, shares), where="post", color=colour(style), linewidth=geometry.line
                )
                handles.setdefault(label, drawn[0])
            axis.set_title(name, loc="left")
            axis.set_xlabel(quantity)
            axis.set_ylabel("share of seconds")
            axis.set_ylim(0, 1)
        _legend(figure, handles, geometry)
        return with_fixed_layout(figure)


@dataclass(frozen=True)
class ScatterPanel:
    """One panel: a quantity over another, a point for each run."""

    title: str
    x: str
    y: str
    points: Sequence[tuple[str, str, Series]]
    """Label, congestion control of its look, and the coordinates."""


def scatter_panels(title: str, grid: Sequence[Sequence[ScatterPanel]], size: Size) -> Figure:
    """Draws a grid of scatter plots."""
    with styled(size) as geometry:
        grid = folded(grid, geometry, _NARROWEST_POINTS)
        figure, axes = _grid(title, len(grid), max(map(len, grid)), geometry)
        handles: dict[str, Line2D] = {}
        for axis, panel in _panels(axes, grid):
            for label, style, (x, y) in panel.points:
                look: dict[str, Any] = {
                    "color": colour(style),
                    "marker": marker(style),
                    "markersize": 2.5 * geometry.line,
                    "linestyle": "none",
                }
                handles.setdefault(label, axis.plot(x, y, **look)[0])
            axis.set_title(panel.title, loc="left")
            axis.set_xlabel(panel.x)
            axis.set_ylabel(panel.y)
        _once(axes, grid, lambda panel: panel.x)
        _legend(figure, handles, geometry)
        return with_fixed_layout(figure)


def _grid(title: str, rows: int, columns: int, geometry: Geometry) -> tuple[Figure, np.ndarray]:
    height = paged(geometry.tall * (0.08 + rows * (0.24 if columns > 1 else 0.4)), geometry)
    figure, axes = figure_of(rows, columns, geometry.width, height)
    set_head(figure, head(title, geometry))
    return figure, axes


def _panels(axes: np.ndarray, grid: Sequence[Sequence[Panel]]) -> list[tuple[Axes, Panel]]:
    """The axes of each panel; those without one are hidden."""
    found = []
    for row, line in enumerate(axes):
        for column, axis in enumerate(line):
            if row < len(grid) and column < len(grid[row]):
                axis.grid(True)
                axis.set_axisbelow(True)
                found.append((axis, grid[row][column]))
            else:
                axis.set_visible(False)
    return found


def _once(axes: np.ndarray, grid: Sequence[Sequence[Panel]], x: Callable[[Panel], str]) -> None:
    """Leave out what a neighbour says: a title that the panel to the left has, the label of an x axis that the panel below has."""
    for number, row in enumerate(grid):
        below = grid[number + 1] if number + 1 < len(grid) else []
        for column, panel in enumerate(row):
            if column and axes[number, column - 1].get_title("left") == axes[number, column].get_title("left"):
                axes[number, column].set_title("", loc="left")
            if column < len(below) and x(below[column]) == x(panel):
                axes[number, column].set_xlabel("")


def _legend(figure: Figure, handles: dict[str, Line2D], geometry: Geometry) -> None:
    if handles:
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=legend_columns(list(handles), geometry))
