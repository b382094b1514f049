"""Figures of panels stacked above a common time axis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dumbbell.drawing.layout import decades, figure_of, head, legend_columns, set_head, with_fixed_layout
from dumbbell.drawing.style import Size, styled
from dumbbell.errors import BadInput, printable, printable_lines
from dumbbell.metrics import Series

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


Stroke = Literal["solid", "dashed", "dotted"]
_DASHES: Mapping[Stroke, Any] = {"solid": "-", "dashed": (0, (4, 2)), "dotted": (0, (1, 1.5))}


@dataclass(frozen=True)
class Line:
    """One series of a panel, drawn as sampled."""

    label: str
    series: Series
    colour: str
    stroke: Stroke = "solid"
    wide: bool = False
    """True if it is drawn wide and pale, so that it remains visible behind another line."""
    thin: bool = False
    """True if it is one of many lines of this look."""


@dataclass(frozen=True)
class Panel:
    """One row of the figure."""

    title: str
    """Label of the y axis, with its unit."""
    lines: Sequence[Line]
    mark: float | None = None
    """A y value to mark with a thin line."""
    from_zero: bool = True
    logarithmic: bool = False


def timeline(title: str, panels: Sequence[Panel], size: Size, start_s: float = 0.0, stop_s: float = math.inf) -> Figure:
    """Draw the panels over [start_s, stop_s]. The legend below the panels lists each label once.

    Raises `BadInput` if no sample lies in that range.
    """
    times = [line.series[0] for panel in panels for line in panel.lines]
    if not any(np.any((t_s >= start_s) & (t_s <= stop_s)) for t_s in times):
        last = max((float(t_s[-1]) for t_s in times if t_s.size), default=0.0)
        raise BadInput(f"{title}: no samples from {start_s:g} s to {min(stop_s, last):g} s; expected a time up to {last:g} s")
    with styled(size) as geometry:
        height = geometry.tall * (0.12 + min(0.165 * len(panels), 0.3 + 0.08 * len(panels)))
        figure, axes = figure_of(len(panels), 1, geometry.width, height, sharex=True)
        set_head(figure, head(printable_lines(title), geometry))
        handles: dict[str, Line2D] = {}
        end = 0.0
        for axis, panel in zip(axes[:, 0], panels, strict=True):
            top = 0.0
            for line in panel.lines:
                t_s, values = line.series
                keep = (t_s >= start_s) & (t_s <= stop_s)
                t_s, values = t_s[keep], values[keep]
                if not t_s.size:
                    continue
                end = max(end, float(t_s[-1]))
                (handle,) = axis.plot(
                    t_s,
                    values,
                    color=line.colour,
                    linestyle=_DASHES[line.stroke],
                    linewidth=geometry.line * (3.2 if line.wide else 0.5 if line.thin else 1.0),
                    alpha=0.28 if line.wide else 0.6 if line.thin else 0.95,
                    solid_joinstyle="round",
                )
                handles.setdefault(line.label, handle)
                if np.any(np.isfinite(values)):
                    top = max(top, float(np.nanmax(values)))
            if panel.mark is not None:
                axis.axhline(panel.mark, color="#888888", linewidth=0.7, linestyle=(0, (1, 2)))
                top = max(top, panel.mark)
            if panel.logarithmic:
                decades(axis, "y")
            elif panel.from_zero:
                axis.set_ylim(0, top * 1.08 if top > 0 else 1)
            axis.set_ylabel(panel.title)
            axis.grid(True, axis="both")
            axis.set_axisbelow(True)
            axis.margins(x=0)
        figure.align_ylabels(axes[:, 0])
        axes[-1, 0].set_xlabel("time (s)")
        axes[-1, 0].set_xlim(start_s, end if end > start_s else start_s + 1)
        if len(handles) > 1:
            figure.legend(
                handles.values(),
                map(printable, handles),
                loc="outside lower center",
                ncols=legend_columns(list(map(printable, handles)), geometry, 0.98),
                handlelength=2.2,
                columnspacing=1.5,
            )
        return with_fixed_layout(figure)
