"""The sheet that figures of many runs are drawn on: a grid of panels below a title and a description, above a legend."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.comparing.across.questions import has_value
from dumbbell.drawing.across.looks import Look, beside, looks
from dumbbell.drawing.across.scales import Scales
from dumbbell.drawing.across.wording import Wording
from dumbbell.drawing.layout import Way, broken, decades, figure_of, legend_columns, set_head, with_fixed_layout
from dumbbell.drawing.style import Geometry, Size
from dumbbell.errors import printable, printable_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from dumbbell.comparing.across.coordinates import Coordinate
    from dumbbell.comparing.across.observations import Observation
    from dumbbell.comparing.across.questions import Settled

_NARROWEST = 1.65
"""Minimum width of a panel, inches at the font of print; more panels are wrapped."""
_MOST_ABREAST = 4
"""Maximum number of panels in one row alone; more make a square."""
_EM = 0.55
"""Mean width of a character in the size of the font."""
_SECOND = "#555555"
"""Colour of the second key in the legend."""
_JAIN = "jain_index"
_MOST_TICKS = 8
_TICK_WIDTH, _TICK_HEIGHT = 2.5, 1.0
"""Size of a tick's label, in units of the font size."""
_ROOM = 0.03
"""Room beyond the drawn values, as a share of their range."""
_LOG_ROOM = 1.15
"""Factor by which a logarithmic axis goes beyond the values."""


@dataclass(frozen=True)
class Group:
    """Observations of one look in a panel: those with one value of each key of `by`."""

    values: tuple[Coordinate, ...]
    look: Look
    found: Sequence[Observation]


@dataclass(frozen=True)
class Panel:
    """One panel."""

    y: str
    title: str
    groups: Sequence[Group]


def panels_of(settled: Settled, wording: Wording) -> list[list[Panel]]:
    """The panels: a row for each y, a column for each value of the key of panels."""
    known = looks_of(settled)
    rows = []
    for y in settled.y:
        row = []
        for value in values_of(settled, settled.panels) if settled.panels else [None]:
            inside = [each for each in settled.data[y] if value is None or each.at.get(settled.panels, "") == value]
            members: dict[tuple[Coordinate, ...], list[Observation]] = {}
            for each in inside:
                if has_value(each, y):
                    members.setdefault(tuple(each.at.get(key, "") for key in settled.by), []).append(each)
            groups = [Group(values, look, members[values]) for values, look in known.items() if values in members]
            title = "" if value is None else f"{wording.key(settled, settled.panels)}: {wording.of(value)}"
            row.append(Panel(y, title, groups))
        rows.append(row)
    return rows


def looks_of(settled: Settled) -> dict[tuple[Coordinate, ...], Look]:
    """The look of each combination of values of `by`."""
    if not settled.by:
        return {(): looks("", [""])[0]}
    first, *second = ([*values_of(settled, key)] for key in settled.by)
    found: dict[tuple[Coordinate, ...], Look] = {}
    for value, look in zip(first, looks(settled.by[0], first), strict=True):
        if not second:
            found[(value,)] = look
        for number, other in enumerate(second[0] if second else ()):
            found[value, other] = beside(look, number, settled.of_points)
    return found


def values_of(settled: Settled, key: str) -> list[Any]:
    """The values of a key in the order of an axis."""
    from dumbbell.results.columns import in_order

    return in_order(dict.fromkeys(each.at.get(key, "") for found in settled.data.values() for each in found))


class Sheet:
    """A figure with its panels, made within `style.styled`."""

    def __init__(
        self, title: str, note: str, panels: Sequence[Sequence[Panel]], size: Size, geometry: Geometry, scales: Scales, **more: Any
    ) -> None:
        """`more` is for `Figure.subplots`."""
        self._geometry, self.size, self.scales = geometry, size, scales
        narrow = _NARROWEST * geometry.font / 7
        many = max(map(len, panels))
        wanted = math.ceil(math.sqrt(many)) if many > _MOST_ABREAST and len(panels) == 1 else many
        self.columns = columns = max(1, min(wanted, int(geometry.width / narrow)))
        if max(map(len, panels)) > columns:
            panels = [row[i : i + columns] for row in panels for i in range(0, len(row), columns)]
        elif len(panels) > 2 and columns == 1 and geometry.width / narrow >= 3:
            self.columns = columns = 2
            all_ = [panel for row in panels for panel in row]
            panels = [all_[i : i + columns] for i in range(0, len(all_), columns)]
        self.rows = len(panels)
        line = geometry.font / 72
        self._note = textwrap.wrap(printable(note), max(30, int(0.97 * geometry.width / (line * 0.9 * _EM))))
        most = (0.4, 0.3, 0.22)[min(self.rows, 3) - 1] * geometry.tall
        high = min(max(0.62 * geometry.width / columns, 1.15 * geometry.font / 7), most)
        self._panel_height = high
        height = self.rows * (high + 2 * line) + (5 + 1.3 * len(self._note)) * line
        self.figure, axes = figure_of(self.rows, columns, geometry.width, height, **more)
        self._title = printable_lines(title)
        self.panels: list[tuple[Axes, Panel]] = []
        for row, listed in zip(axes, panels, strict=True):
            for column, axis in enumerate(row):
                if column < len(listed):
                    self.panels.append((axis, listed[column]))
                    axis.set_title(listed[column].title, loc="left")
                    axis.grid(True)
                    axis.set_axisbelow(True)
                else:
                    axis.set_visible(False)
        self._axes = axes
        known = {id(axis): panel.title for axis, panel in self.panels}
        for above, row in pairwise(axes):
            for over, axis in zip(above, row, strict=True):
                if known.get(id(axis)) == known.get(id(over)):
                    axis.set_title("", loc="left")  # the row above says it

    def label_y(self, axis: Axes, panel: Panel, label: str) -> None:
        """The label of a y axis and of its ticks, unless the panel to the left has the same axis."""
        row = next(row for row in self._axes if axis in row)
        column = list(row).index(axis)
        known = {id(each): other for each, other in self.panels}
        if column == 0 or known[id(row[column - 1])].y != panel.y:
            axis.set_ylabel(label)
        else:
            axis.tick_params(labelleft=False)

    def same_heights(self) -> None:
        """Gives panels of the same column one y axis, from zero to a tick, so that differences look as large as they are."""
        for y in {panel.y for _, panel in self.panels}:
            # The limit of a band counts only where values can be: an interval of a rate may reach below zero.
            values = [value for axis, panel in self.panels if panel.y == y for line in axis.lines for value in np.ravel(line.get_ydata())]
            low = min(map(float, filter(math.isfinite, values)), default=0.0)
            self.give_ticks(y, "y", min(low, 0.0), 1.0 if y == _JAIN else self._drawn(y, "y")[1])

    def give_ticks(self, y: str, way: Way, low: float, high: float) -> None:
        """Ticks of the x or the y axes of all panels of a column, from below its values to above them, and no axis beyond."""
        from matplotlib.ticker import MaxNLocator

        if way in self.scales.log:
            self._give_decades(y, way, high)
            return
        low, high = self.scales.ends(way, low, high)
        first, last = self.scales.ends(way, math.nan, math.nan)
        length = self.panel_points / (2.2 * _TICK_WIDTH) if way == "x" else self._panel_height * 72 / (2.2 * _TICK_HEIGHT)
        count = max(2, min(_MOST_TICKS, int(length / self._geometry.font)))
        ticks = MaxNLocator(nbins=count, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high if high > low else low + (abs(low) or 1.0))
        for axis, panel in self.panels:
            if panel.y == y:
                getattr(axis, f"set_{way}ticks")(ticks)
                getattr(axis, f"set_{way}lim")(ticks[0] if math.isnan(first) else first, ticks[-1] if math.isnan(last) else last)

    def _give_decades(self, y: str, way: Way, high: float) -> None:
        """Logarithmic axes, over the values above 0."""
        axes = [axis for axis, panel in self.panels if panel.y == y]
        least = [float(getattr(axis.dataLim, f"minpos{way}")) for axis in axes]
        low = min(filter(math.isfinite, least), default=0.1)
        low, high = self.scales.ends(way, low / _LOG_ROOM, max(high, low) * _LOG_ROOM)
        for axis in axes:
            getattr(axis, f"set_{way}scale")("log", nonpositive="clip")
            getattr(axis, f"set_{way}lim")(low, high)
            decades(axis, way)

    def spread(self, y: str, way: Way) -> tuple[float, float]:
        """Return the range of a column drawn over the x or the y axis, with some room at either end; below 0 only if something drawn is."""
        low, high = self._drawn(y, way)
        room = _ROOM * (high - low)
        return max(low - room, 0.0) if low >= 0 else low - room, high + room

    def _drawn(self, y: str, way: Way) -> tuple[float, float]:
        ends = [getattr(axis.dataLim, f"interval{way}") for axis, panel in self.panels if panel.y == y]
        low, high = min(min(each) for each in ends), max(max(each) for each in ends)
        return (float(low), float(high)) if math.isfinite(low) and math.isfinite(high) else (0.0, 1.0)

    def is_lowest(self, axis: Axes) -> bool:
        """True if there is no panel below it."""
        return any(
            axis is self._axes[row, column] and (row + 1 == self.rows or not self._axes[row + 1, column].get_visible())
            for row in range(self.rows)
            for column in range(self.columns)
        )

    @property
    def panel_points(self) -> float:
        """About how wide a panel is, points."""
        return 0.82 * self._geometry.width * 72 / self.columns

    def legend(self, handles: Mapping[str, Any], title: str) -> None:
        """The legend below the panels."""
        if not handles:
            return
        labels = list(handles)
        self.figure.legend(
            list(handles.values()),
            labels,
            loc="outside lower center",
            ncols=legend_columns(labels, self._geometry),
            title=printable(title) or None,
            title_fontsize=self._geometry.font * 0.95,
            handlelength=2.6,
            columnspacing=1.5,
        )

    def named(self, write: Callable[[], Sequence[Text] | None]) -> bool:
        """Let names be written into the panels of the figure as it will be laid out without a legend. Return true if they found room."""
        self._headed()
        self.figure.align_ylabels([axis for axis in self.figure.axes if axis.get_ylabel()])
        engine = self.figure.get_layout_engine()
        with_fixed_layout(self.figure)
        if write() is not None:
            return True
        self.figure.set_layout_engine(engine)
        return False

    def _headed(self) -> str:
        """The title as it is broken; the figure has it, and room for the note."""
        head = broken(self._title, self._geometry)
        if self._title or self._note:
            set_head(self.figure, "\n".join([head or " ", *[" "] * len(self._note)]))
        return head

    def finished(self) -> Figure:
        """The figure with title and note."""
        lines = len(self._note)
        head = self._headed()
        self.figure.align_ylabels([axis for axis in self.figure.axes if axis.get_ylabel()])
        with_fixed_layout(self.figure)
        if lines:
            title = self.figure._suptitle  # type: ignore[attr-defined]
            box = title.get_window_extent().transformed(self.figure.transFigure.inverted())
            title.set_text(head)  # the empty lines have kept the room of the note
            self.figure.text(
                0.01, box.y0, "\n".join(self._note), ha="left", va="bottom", fontsize=self._geometry.font * 0.9, color="#444444"
            )
        return self.figure


def legend_title(settled: Settled, wording: Wording) -> str:
    """Return the meaning of colours and of styles of lines."""
    names = [wording.key(settled, key) for key in settled.by]
    second = "marker" if settled.of_points else "filling" if settled.kind == "box" else "line"
    return names[0] if len(names) == 1 else f"{names[0]} (colour), {names[1]} ({second})" if names else ""


def legend_handles(settled: Settled, wording: Wording, geometry: Geometry, form: str) -> dict[str, Any]:
    """A handle for each value of the first key, and for each of the second, of which anything is drawn; `form`: `line`, `marker`, `step`
    or `patch`."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def handle(look: Look, form: str) -> Any:
        if form == "patch":
            return Patch(**look.filling())
        return Line2D(
            [],
            [],
            color=look.colour,
            linestyle="none" if form == "marker" else look.stroke,
            marker=look.marker if form != "step" else "",
            markersize=4.5 * geometry.line**0.5,
            markerfacecolor="white" if look.hollow else look.colour,
            linewidth=1.2 * geometry.line,
        )

    if not settled.by:
        return {}
    found: dict[str, Any] = {}
    drawn = {
        tuple(each.at.get(key, "") for key in settled.by) for y, listed in settled.data.items() for each in listed if has_value(each, y)
    }
    known = {values: look for values, look in looks_of(settled).items() if values in drawn}
    # A marker that stands for the second key says nothing of the first.
    first_form = "patch" if form == "marker" and len(settled.by) > 1 else form
    for values, look in known.items():
        plain = Look(look.colour, look.marker, look.stroke if len(values) == 1 else "-")
        found.setdefault(wording.of(values[0]), handle(plain, first_form))
    for values, look in known.items():
        if len(values) > 1:
            name = wording.of(values[1])
            name = f"{wording.key(settled, settled.by[1])}: {name}" if name in map(wording.of, {first for first, _ in known}) else name
            second = replace(look, colour=_SECOND, marker=look.marker if form == "marker" else "")
            found.setdefault(name, handle(second, form))
    return found


def thinned(labels: Sequence[str], places: Sequence[float], points: float, font: float) -> list[str]:
    """Labels of ticks, those left out that would overlap the one before; `places` in shares of the axis, `points` is its width."""
    shown, end = [], -math.inf
    for label, place in zip(labels, places, strict=True):
        half = 0.5 * 0.62 * 0.9 * font * max(map(len, label.split("\n")))
        fits = place * points - half > end
        shown.append(label if fits else "")
        if fits:
            end = place * points + half + 0.3 * font
    return shown
