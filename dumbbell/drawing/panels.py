"""Grids of panels over time, each with a line or points for every flow, e.g. one column per run and one row per queue."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from dumbbell.drawing.layout import figure_of, folded, head, legend_columns, paged, set_head, with_fixed_layout
from dumbbell.drawing.style import Size, of_flow, styled
from dumbbell.metrics import Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_MARKERS = 12
"""Number of markers along a line."""


@dataclass(frozen=True)
class FlowPanel:
    """One panel: a series per flow, in the order that determines colours and markers."""

    title: str
    quantity: str
    """Label of the y axis, with its unit. Panels with the same label share their y axis."""
    flows: Sequence[Series]
    """The series of the flows; empty if there is no run."""
    top: float = 0.0
    """Minimum of the upper end of the y axis."""
    form: Literal["line", "points"] = "line"


def flow_panels(
    title: str, grid: Sequence[Sequence[FlowPanel]], labels: Sequence[str], size: Size, start_s: float = 0.0, stop_s: float = math.inf
) -> Figure:
    """Draw a grid of panels over [start_s, stop_s] (by default to the last sample), all on one time axis; `labels` name the flows.

    A panel without flows says so. NaN breaks a line.
    """
    panels = [panel for row in grid for panel in row]
    ends = [float(series[0][-1]) for panel in panels for series in panel.flows if series[0].size]
    stop_s = min(stop_s, max(ends, default=start_s + 1.0))
    tops = {panel.quantity: max(_top(other, start_s, stop_s) for other in panels if other.quantity == panel.quantity) for panel in panels}
    with styled(size) as geometry:
        grid = folded(grid, geometry)
        columns = max(len(row) for row in grid)
        height = paged(geometry.tall * (0.08 + len(grid) * (0.19 if columns > 1 else 0.26)), geometry)
        figure, axes = figure_of(len(grid), columns, geometry.width, height, sharex=True)
        set_head(figure, head(title, geometry))
        handles: dict[str, Line2D] = {}
        for row, drawn in zip(axes, grid, strict=True):
            for axis in row[len(drawn) :]:
                axis.set_visible(False)
            for number, (axis, panel) in enumerate(zip(row, drawn, strict=False)):
                for flow, series in enumerate(panel.flows):
                    handle = _draw(axis, series, flow, panel.form, start_s, stop_s, geometry.line)
                    if len(handle.get_xdata()):  # type: ignore[arg-type]
                        handles.setdefault(labels[flow], handle)
                if not panel.flows:
                    axis.text(0.5, 0.5, "no run", transform=axis.transAxes, ha="center", va="center", color="#888888")
                if number == 0 or panel.title != drawn[number - 1].title:
                    axis.set_title(panel.title, loc="left")
                axis.set_ylabel(panel.quantity)
                axis.set_ylim(0, tops[panel.quantity])
                axis.grid(True)
                axis.set_axisbelow(True)
        for axis in axes[-1]:
            axis.set_xlabel("time (s)")
            axis.set_xlim(start_s, stop_s)
        figure.align_ylabels()
        if handles:
            columns = legend_columns(list(handles), geometry)
            figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, markerscale=1.4)
        return with_fixed_layout(figure)


def _top(panel: FlowPanel, start_s: float, stop_s: float) -> float:
    """The upper end of the y axis that a panel needs."""
    shown = [values[(t_s >= start_s) & (t_s <= stop_s) & np.isfinite(values)] for t_s, values in panel.flows]
    highest = max((float(values.max()) for values in shown if values.size), default=0.0)
    return max(panel.top, 1.02 * highest) or 1.0


def _draw(axis: Axes, series: Series, number: int, form: str, start_s: float, stop_s: float, width: float) -> Line2D:
    colour, marker = of_flow(number)
    t_s, values = series
    keep = (t_s >= start_s) & (t_s <= stop_s)
    t_s, values = t_s[keep], values[keep]
    if form == "points":
        # Rasterised in the SVG too, because thousands of points as shapes would take megabytes.
        return axis.plot(t_s, values, color=colour, marker=marker, markersize=1.6 * width, linestyle="none", rasterized=True)[0]
    every = max(1, len(t_s) // _MARKERS)
    # Markers are offset by flow, so that they remain visible where lines coincide.
    first = (number * every) // 3
    return axis.plot(t_s, values, color=colour, marker=marker, markersize=4 * width, markevery=(first, every), linewidth=width)[0]
