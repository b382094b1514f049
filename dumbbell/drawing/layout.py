"""Where the parts of a figure lie: heads, panels in as many columns as fit, legends, and axes with at least half of the height."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from dumbbell.drawing.apart import tell_apart
from dumbbell.drawing.style import Geometry

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

Item = TypeVar("Item")
Way = Literal["x", "y"]

_BOLD_EM, _EM = 0.62, 0.58
"""Mean width of a bold and of a plain character in the size of the font."""
_HANDLE_EM = 5.2
"""Width of a legend's entry without its label, in the size of the font."""
_MOST_COLUMNS = 8
"""Maximum number of columns of a legend."""
_NARROWEST = 1.55
"""Minimum width of a panel with its labels, inches at the font of print; more panels are wrapped."""
_PAGE_IN = 9.2
"""Maximum height of a figure of a paper: that of the page's text, inches."""
_AXES_SHARE = 0.52
"""Minimum share of the height that axes have."""
_LINEAR = 6.0
"""Ratio of the ends of a logarithmic axis below which its ticks have equal distances in numbers: there are too few decades."""
_DECADES = 40.0
"""Ratio of the ends of an axis from which on only decades have labels."""

_titled: ContextVar[bool] = ContextVar("_titled", default=True)


@contextmanager
def untitled() -> Iterator[None]:
    """Let figures have no title within the context."""
    token = _titled.set(False)
    try:
        yield
    finally:
        _titled.reset(token)


def head(text: str, geometry: Geometry) -> str:
    """The title of a figure in as many lines as it takes. Empty at the sizes of papers, where the caption says it."""
    return "" if geometry.of_paper or not _titled.get() else broken(text, geometry)


def broken(text: str, geometry: Geometry) -> str:
    """A title in as many lines as it takes."""
    most = max(20, int(0.95 * geometry.width * 72 / (1.3 * geometry.font * _BOLD_EM)))
    return "\n".join(part for line in text.split("\n") for part in textwrap.wrap(line, most) or [""])


def set_head(figure: Figure, text: str) -> None:
    """Give a figure a title, if the text is not empty. A title that it has stays where a layout has put it."""
    if text and figure.get_suptitle() != text:
        figure.suptitle(text, x=0.01, ha="left", fontweight="bold")


def figure_of(rows: int, columns: int, width: float, height: float, **more: Any) -> tuple[Figure, NDArray[Any]]:
    """A figure with a grid of axes, laid out by constraints. Must be called within `styled`.

    It is made without pyplot, which would keep it, open windows where there is a display, and take a while to import; notebooks show it.
    """
    from dumbbell.drawing.shown import ShownFigure

    figure = ShownFigure(figsize=(width, height), layout="constrained")
    axes: NDArray[Any] = figure.subplots(rows, columns, squeeze=False, **more)
    return figure, axes


def paged(height: float, geometry: Geometry) -> float:
    """A height (inches), or that of a page if a figure of a paper would be higher."""
    return min(height, _PAGE_IN) if geometry.of_paper else height


def folded(grid: Sequence[Sequence[Item]], geometry: Geometry, narrowest: float = _NARROWEST) -> list[list[Item]]:
    """Return a grid of panels in as many columns as fit: each row is broken into rows of equal length."""
    widest = max(map(len, grid))
    most = max(1, int(geometry.width / (narrowest * geometry.font / 7)))
    if widest <= most:
        return [list(row) for row in grid]
    columns = next((each for each in range(most, 1, -1) if widest % each == 0), most)
    return [list(row[first : first + columns]) for row in grid for first in range(0, len(row), columns)]


def legend_columns(labels: Sequence[str], geometry: Geometry, room: float = 0.94) -> int:
    """The most columns, filled one after the other, in which the labels of a legend fit into this share of the figure's width."""
    room_em = room * geometry.width * 72 / (0.95 * geometry.font)
    for columns in range(min(len(labels), _MOST_COLUMNS), 1, -1):
        least, longer = divmod(len(labels), columns)  # this number of columns has one label more
        ends = list(accumulate(least + (i < longer) for i in range(columns)))
        widths = [max(map(len, labels[first:end])) for first, end in pairwise([0, *ends])]
        if sum(_HANDLE_EM + _EM * width for width in widths) <= room_em:
            return columns
    return 1


def with_fixed_layout(figure: Figure) -> Figure:
    """Compute the layout of a figure and fix it, so that it is not recomputed each time the figure is drawn.

    A figure whose axes would have less than half of the height becomes higher; curves that coincide are distinguished. It must be called
    within `styled`: the number of ticks depends on the size of their labels, which matplotlib determines again while drawing. Outside of
    `styled` the labels would have another size and might not fit.
    """
    from matplotlib import rcParams

    for axis in figure.axes:
        axis.tick_params(labelsize=rcParams["ytick.labelsize"])
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        if _fit(figure):
            engine.execute(figure)
        lacking = _AXES_SHARE - axes_share(figure)
        if lacking > 0:
            height = figure.get_figheight()
            # The rest keeps its height.
            figure.set_figheight(min(max(height, _PAGE_IN), height * (1 + lacking / (1 - _AXES_SHARE))))
            engine.execute(figure)
        figure.set_layout_engine("none")
    for axis in figure.axes:
        tell_apart(axis)
    return figure


def decades(axis: Axes, way: Way) -> None:
    """Make an axis logarithmic, with a tick at each decade, written as a plain number; over few decades also at 2 and 5."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

    if getattr(axis, f"get_{way}scale")() != "log":
        getattr(axis, f"set_{way}scale")("log", nonpositive="clip")
    low, high = sorted(getattr(axis, f"get_{way}lim")())
    found = axis.xaxis if way == "x" else axis.yaxis
    if high / low < _LINEAR:
        found.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 5, 10]))
        found.set_major_formatter(lambda value, _: f"{value:g}")
        found.set_minor_locator(NullLocator())
        return
    found.set_major_locator(LogLocator(subs=(1.0,) if high / low > _DECADES else (1.0, 2.0, 5.0)))
    # Powers are written in mathtext by default, which the labels of files from others must not be.
    found.set_major_formatter(lambda value, _: f"{value:g}")
    found.set_minor_locator(LogLocator(subs=range(2, 10)))
    found.set_minor_formatter(NullFormatter())


def axes_share(figure: Figure) -> float:
    """Return the share of the height at which there are axes."""
    total, end = 0.0, 0.0
    for low, high in sorted((axis.get_position().y0, axis.get_position().y1) for axis in figure.axes if axis.get_visible()):
        total += max(high - max(low, end), 0.0)
        end = max(end, high)
    return total


def _fit(figure: Figure) -> bool:
    """Break labels and titles of axes that are longer than their axes. Return true if there were any."""
    changed = False
    for axis in figure.axes:
        if not axis.get_visible():
            continue
        area = axis.get_window_extent()
        for text, room in ((axis.yaxis.label, area.height), (axis.xaxis.label, area.width), (axis._left_title, 1.02 * area.width)):  # type: ignore[attr-defined]
            words = text.get_text()
            if not words.strip():
                continue
            box = text.get_window_extent()
            length = box.height if text is axis.yaxis.label else box.width
            if length > room:
                longest = max(map(len, words.split("\n")))
                text.set_text(broken_label(words, int(longest * room / length)))
                changed = changed or text.get_text() != words
    return changed


def broken_label(label: str, most: int) -> str:
    """Return a label in lines of at most this many characters if it can be broken there: at spaces, and behind the dots of a key."""
    lines = []
    for line in label.split("\n"):
        lines.append("")
        for part in re.split(r"(?<=[. ])", line):
            if lines[-1] and len(lines[-1]) + len(part.rstrip()) > most:
                lines.append("")
            lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)
