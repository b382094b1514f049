"""Curves that coincide, told apart: the lower one is wider, so that its colour shows at both sides of the upper one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from numpy.typing import NDArray

_PLACES = 200
"""Places at which curves are compared."""
_NEAR = 0.006
"""Distance of curves that coincide, as a share of the height of the axis: about the width of a line."""
_SHARE = 0.4
"""Share of the places from which on two curves count as coinciding."""
_WIDER = 1.2
"""Width that a curve gains for each other that covers it, in its own widths."""
_MOST = 16
"""Maximum number of curves that are compared; more cannot be distinguished anyway."""


def tell_apart(axis: Axes) -> None:
    """Make each curve of an axis wider that later ones cover, and its markers larger."""
    curves = [line for line in axis.lines if _is_curve(line)]
    if not 1 < len(curves) <= _MOST:
        return
    values = _compared(axis, curves)
    for number, line in enumerate(curves):
        covers = sum(_coincide(values[number], other) for other in values[number + 1 :])
        if covers:
            line.set_linewidth(line.get_linewidth() * (1 + _WIDER * covers))
            line.set_markersize(line.get_markersize() * (1 + 0.35 * covers))


def _is_curve(line: Line2D) -> bool:
    """True if it is drawn from left to right, which a whisker of a box and a vertical line of reference are not."""
    opacity, places = line.get_alpha(), _numbers(line.get_xdata())
    joined = line.get_linestyle() not in ("None", "none", "") and len(set(places[np.isfinite(places)].tolist())) > 1
    return joined and (opacity is None or opacity > 0.5)


def _compared(axis: Axes, curves: Sequence[Line2D]) -> list[NDArray[np.float64]]:
    """The heights of curves at the same places, as shares of the axis; NaN beyond their ends. There are more places where there are more
    points."""
    drawn = [axis.transData.transform(np.column_stack([_numbers(line.get_xdata()), _numbers(line.get_ydata())])) for line in curves]
    everywhere = np.concatenate([points[:, 0] for points in drawn])
    places = np.quantile(everywhere[np.isfinite(everywhere)], np.linspace(0, 1, _PLACES))
    height = axis.bbox.height
    return [np.interp(places, points[:, 0], points[:, 1] / height, left=np.nan, right=np.nan) for points in drawn]


def _numbers(data: object) -> NDArray[np.float64]:
    return np.asarray(data, dtype=np.float64)


def _coincide(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    there = np.isfinite(one) & np.isfinite(other)
    near = int(np.count_nonzero(np.abs(one - other)[there] < _NEAR))
    return near > _SHARE * max(int(np.count_nonzero(there)), 1)
