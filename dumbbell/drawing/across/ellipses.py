"""Throughput against delay, with an ellipse of one standard deviation over seeds.

The drawing follows Winstein and Balakrishnan (TCP ex Machina, SIGCOMM 2013). The ellipse belongs to the two-dimensional normal distribution
that is the most likely for the runs. The delay axis is reversed, so that better is up and to the right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dumbbell import metrics
from dumbbell.comparing.across.observations import Observation
from dumbbell.comparing.across.questions import Settled
from dumbbell.drawing.across.looks import Look
from dumbbell.drawing.across.scales import WAYS, Scales
from dumbbell.drawing.across.sheet import Sheet, legend_handles, legend_title, looks_of, panels_of
from dumbbell.drawing.across.wording import Wording
from dumbbell.drawing.style import Size, styled
from dumbbell.metrics import Array
from dumbbell.results.columns import is_delay

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    from dumbbell.comparing.across.coordinates import Coordinate

FEWEST = 3
"""Runs that have an ellipse."""
_MOST_NAMED = 8
"""Maximum number of ellipses of a panel that have their names next to them; more have a legend."""


def ellipses(settled: Settled, title: str, note: str, wording: Wording, scales: Scales, size: Size) -> Figure:
    """A point for each run, the mean as a marker, and the ellipse around it."""
    with styled(size) as geometry:
        sheet = Sheet(title, note, panels_of(settled, wording), size, geometry, scales)
        for axis, panel in sheet.panels:
            for group in panel.groups:
                x, y = points(group.found, settled.x, panel.y)
                if x.size:
                    _draw(axis, x, y, group.look, geometry.line)
            sheet.label_y(axis, panel, wording.y_label or wording.column(settled, panel.y))
            axis.set_xlabel(wording.x_label or wording.column(settled, settled.x))
        for y_name in settled.y:
            for way in WAYS:
                sheet.give_ticks(y_name, way, *sheet.spread(y_name, way))
        if is_delay(settled.x):
            for axis, _ in sheet.panels:
                axis.invert_xaxis()
        names = {values: ", ".join(map(wording.of, values)) for values in looks_of(settled)}
        if settled.by and sheet.named(lambda: _named(sheet, settled, names, geometry.font)):
            return sheet.finished()
        sheet.legend(legend_handles(settled, wording, geometry, "marker"), legend_title(settled, wording))
        return sheet.finished()


def _named(sheet: Sheet, settled: Settled, names: Mapping[tuple[Coordinate, ...], str], font: float) -> list[Text] | None:
    """Write the name of each group next to its mean; None if one has no free place there."""
    from matplotlib.transforms import Bbox, IdentityTransform

    texts: list[Text] = []
    for axis, panel in sheet.panels:
        if len(panel.groups) > _MOST_NAMED:
            break
        area = axis.get_window_extent()
        centres = []
        for group in panel.groups:
            x, y = points(group.found, settled.x, panel.y)
            if x.size:
                centres.append((group, axis.transData.transform((float(np.mean(x)), float(np.mean(y))))))
        marks = [Bbox.from_bounds(x - font / 2, y - font / 2, font, font) for _, (x, y) in centres]
        marks += [patch.get_window_extent() for patch in axis.patches]
        taken: list[Bbox] = []
        for group, (x, y) in centres:
            text = axis.text(
                0, 0, names[group.values], transform=IdentityTransform(), color=group.look.colour, ha="left", va="bottom", in_layout=False
            )
            box = text.get_window_extent()
            place = _free(x, y, box.width, box.height, area, [*marks, *taken])
            texts.append(text)
            if place is None:
                for each in texts:
                    each.remove()
                return None
            taken.append(Bbox.from_bounds(*place, box.width, box.height))
            left, bottom = axis.transAxes.inverted().transform(place)
            text.set_position((float(left), float(bottom)))
            text.set_transform(axis.transAxes)
    else:
        return texts
    for each in texts:
        each.remove()
    return None


def _free(x: float, y: float, wide: float, high: float, area: Bbox, taken: Sequence[Bbox]) -> tuple[float, float] | None:
    """The lower left corner of a free place for a text near a point, the nearest first."""
    from matplotlib.transforms import Bbox

    for far in (0.7, 1.2, 2.0, 3.0, 4.5, 6.0):
        gap = far * high
        for place in (
            (x + gap, y - high / 2),
            (x - gap - wide, y - high / 2),
            (x - wide / 2, y + gap),
            (x - wide / 2, y - gap - high),
            (x + gap, y + gap),
            (x - gap - wide, y + gap),
            (x + gap, y - gap - high),
            (x - gap - wide, y - gap - high),
        ):
            box = Bbox.from_bounds(*place, wide, high)
            inside = box.x0 >= area.x0 and box.x1 <= area.x1 and box.y0 >= area.y0 and box.y1 <= area.y1
            if inside and not any(box.overlaps(other) for other in taken):
                return place
    return None


def points(found: Sequence[Observation], x: str, y: str) -> tuple[Array, Array]:
    """The coordinates of each run that has both; of several values of a run their means."""
    runs: dict[int, list[tuple[float, float]]] = {}
    for each in found:
        pair = each.values.get(x, math.nan), each.values.get(y, math.nan)
        if not any(map(math.isnan, pair)):
            runs.setdefault(each.run, []).append(pair)
    means = np.array([np.mean(pairs, axis=0) for pairs in runs.values()]).reshape(-1, 2)
    return means[:, 0], means[:, 1]


def _draw(axis: Axes, x: Array, y: Array, look: Look, width: float) -> None:
    from matplotlib.patches import Ellipse

    centre, first, second, angle = metrics.gaussian_ellipse(x, y)
    axis.plot(x, y, linestyle="none", marker=".", markersize=2.2 * width**0.5, color=look.colour, alpha=0.45)
    if len(x) >= FEWEST:
        ellipse = Ellipse(
            centre, first, second, angle=angle, facecolor=look.colour, edgecolor=look.colour, linestyle=look.stroke, linewidth=width
        )
        ellipse.set_facecolor((*_rgb(look.colour), 0.18))
        axis.add_patch(ellipse)
    axis.plot(
        *centre,
        linestyle="none",
        marker=look.marker,
        markersize=5.5 * width**0.5,
        color=look.colour,
        markerfacecolor="white" if look.hollow else look.colour,
    )


def _rgb(colour: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(colour)
