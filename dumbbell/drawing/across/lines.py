"""Values over a swept key or over time, with bands over seeds."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.comparing.across.estimates import Estimate, by_run, estimate
from dumbbell.comparing.across.observations import is_rate
from dumbbell.comparing.across.questions import Settled
from dumbbell.drawing.across.looks import Look
from dumbbell.drawing.across.scales import Scales
from dumbbell.drawing.across.sheet import Group, Sheet, legend_handles, legend_title, panels_of, thinned, values_of
from dumbbell.drawing.across.wording import Wording
from dumbbell.drawing.layout import decades
from dumbbell.drawing.style import Size, styled
from dumbbell.errors import BadInput
from dumbbell.metrics import Array
from dumbbell.results import schema
from dumbbell.results.columns import as_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LOGARITHMIC = 16.0
"""From this ratio of the largest to the smallest value on, the axis of a swept key is logarithmic."""
_TIMES = 300
"""Samples of several series are averaged over this share of the time axis."""


def level_lines(settled: Settled, title: str, note: str, wording: Wording, scales: Scales, size: Size) -> Figure:
    """Estimates over the values of a key: lines and bands over numbers, points and error bars over words."""
    levels = values_of(settled, settled.x) if settled.x else [""]
    numbers = None if settled.of_points else as_numbers(levels)
    with styled(size) as geometry:
        sheet = Sheet(title, note, panels_of(settled, wording), size, geometry, scales)
        for axis, panel in sheet.panels:
            for number, group in enumerate(panel.groups):
                inside: dict[Any, list[tuple[int, float]]] = {level: [] for level in levels}
                for each in group.found:
                    inside[each.at.get(settled.x, "")].append((each.run, each.values.get(panel.y, math.nan)))
                found = [estimate(by_run(inside[level]), settled.statistic) for level in levels]
                beside = 0.6 * (number - (len(panel.groups) - 1) / 2) / max(len(panel.groups), 1)
                places = np.array([i + beside for i in range(len(levels))] if numbers is None else numbers[0])
                _estimates(axis, places, found, group.look, geometry.line, joined=numbers is not None)
            sheet.label_y(axis, panel, wording.y_label or wording.column(settled, panel.y))
            _level_axis(axis, sheet, settled, wording, levels, numbers, geometry.font)
        sheet.same_heights()
        sheet.legend(
            legend_handles(settled, wording, geometry, "line" if numbers is not None else "marker"), legend_title(settled, wording)
        )
        return sheet.finished()


def time_lines(
    settled: Settled, title: str, note: str, wording: Wording, scales: Scales, size: Size, start_s: float, stop_s: float
) -> Figure:
    """Series over time: as sampled where a line is of one series, else estimates over seeds in bins."""
    ends = [float(each.series[0][-1]) for found in settled.data.values() for each in found if each.series is not None]
    stop_s = min(stop_s, max(ends))
    with styled(size) as geometry:
        sheet = Sheet(title, note, panels_of(settled, wording), size, geometry, scales)
        for axis, panel in sheet.panels:
            for group in panel.groups:
                window_s = settled.window_s if is_rate(panel.y) else None
                if len(group.found) == 1 and not window_s:
                    t_s, values = group.found[0].series or (np.empty(0), np.empty(0))
                    keep = (t_s >= start_s) & (t_s <= stop_s)
                    axis.plot(t_s[keep], values[keep], color=group.look.colour, linestyle=group.look.stroke, linewidth=geometry.line)
                    continue
                width_s = window_s or _bin(panel.groups, stop_s - start_s)
                times, found = _binned(group, panel.y, width_s, start_s, stop_s, settled.statistic)
                _estimates(axis, times, found, group.look, geometry.line, joined=True, marked=False, window_s=window_s)
            sheet.label_y(axis, panel, wording.y_label or wording.column(settled, panel.y))
            axis.margins(x=0)
            if "x" in scales.log:
                axis.set_xlim(scales.ends("x", max(start_s, float(axis.dataLim.minposx)), stop_s))
                decades(axis, "x")
            else:
                axis.set_xlim(scales.ends("x", start_s, stop_s))
            axis.tick_params(labelbottom=sheet.is_lowest(axis))
            if sheet.is_lowest(axis):
                axis.set_xlabel(wording.x_label or "time (s)")
        sheet.same_heights()
        sheet.legend(legend_handles(settled, wording, geometry, "step"), legend_title(settled, wording))
        return sheet.finished()


def _estimates(
    axis: Axes,
    places: Array,
    found: Sequence[Estimate],
    look: Look,
    width: float,
    joined: bool,
    marked: bool = True,
    window_s: float | None = None,
) -> None:
    """A line with a band, or points with error bars; of windows, which end at their places, steps as wide as these."""
    centres = np.array([each.centre for each in found])
    lows, highs = (np.array([getattr(each, end) if each.has_interval else each.centre for each in found]) for end in ("low", "high"))
    shown: dict[str, Any] = {"color": look.colour, "markerfacecolor": "white" if look.hollow else look.colour}
    shown |= {"marker": look.marker, "markersize": 4.5 * width**0.5} if marked else {}
    there = np.isfinite(centres)
    if window_s:
        # The value of a window belongs to all of it; where there is no window there is no line.
        parts = [np.insert(each, 0, each[:1]) for each in (centres, lows, highs)]
        edges = np.insert(places, 0, places[0] - window_s)
        axis.step(edges, parts[0], where="pre", linestyle=look.stroke, linewidth=1.2 * width, color=look.colour)
        axis.fill_between(edges, parts[1], parts[2], step="pre", color=look.colour, alpha=0.2, linewidth=0)
    elif joined and np.count_nonzero(there) > 1:
        axis.plot(places[there], centres[there], linestyle=look.stroke, linewidth=1.2 * width, clip_on=not marked, **shown)
        axis.fill_between(places[there], lows[there], highs[there], color=look.colour, alpha=0.2, linewidth=0)
    else:
        reach = np.array([centres - lows, highs - centres])
        axis.errorbar(
            places,
            centres,
            np.where(np.isfinite(reach), reach, 0.0),
            linestyle="none",
            elinewidth=width,
            capsize=2 * width,
            clip_on=not marked,
            **shown,
        )


def _level_axis(
    axis: Axes,
    sheet: Sheet,
    settled: Settled,
    wording: Wording,
    levels: Sequence[Any],
    numbers: tuple[list[float], str] | None,
    font: float,
) -> None:
    if numbers is None:
        places, labels = [float(i) for i in range(len(levels))], [wording.of(level) for level in levels]
        low, high = -0.6, len(levels) - 0.4
        unit = ""
    else:
        places, unit = numbers
        labels = [f"{value:g}" for value in places]
        if "x" in sheet.scales.log and min(places) <= 0:
            given = settled.manner.offered("log", "x")
            raise BadInput(f"{given} was given, and {settled.x} has the value {min(places):g}; expected values above 0")
        if "x" in sheet.scales.log or (min(places) > 0 and max(places) / min(places) >= _LOGARITHMIC and len(places) > 2):
            axis.set_xscale("log")
            axis.minorticks_off()
        low, high = sheet.scales.ends("x", *_reach(places, axis.get_xscale() == "log"))
    axis.set_xlim(low, high)
    shares = [
        float(share) for share in (axis.transData.transform([(place, 0.0) for place in places])[:, 0] - axis.bbox.x0) / axis.bbox.width
    ]
    if numbers is None:
        word_ticks(axis, labels, sheet.panel_points, font)
    else:
        axis.set_xticks(places, thinned(labels, shares, sheet.panel_points, font))
        axis.set_xlim(low, high)  # which ticks beyond it have moved
    lowest = sheet.is_lowest(axis)
    axis.tick_params(labelbottom=lowest)
    if lowest:
        axis.set_xlabel(key_label(settled, wording, settled.x, unit))


def key_label(settled: Settled, wording: Wording, key: str, unit: str) -> str:
    """The label of the axis of a key."""
    if wording.x_label:
        return wording.x_label
    name = wording.key(settled, key)
    return f"{name} ({unit})" if unit else name


def _reach(places: Sequence[float], logarithmic: bool) -> tuple[float, float]:
    """The ends of an axis of numbers, a twentieth beyond them."""
    low, high = min(places), max(places)
    if logarithmic:
        beyond = (high / low) ** 0.05
        return low / beyond, high * beyond
    beyond = 0.05 * (high - low) or 0.5
    return low - beyond, high + beyond


def word_ticks(axis: Axes, words: Sequence[str], points: float, font: float) -> None:
    """Labels of the places 0, 1 ... of an axis of this width: broken between words, or where that is not enough slanted."""
    most = int(points / max(len(words), 1) / (0.62 * 0.9 * font))
    lines = [textwrap.wrap(word, max(most, 6), break_long_words=False) or [word] for word in words]
    slanted = any(len(part) > max(most, 1) for listed in lines for part in listed)
    axis.set_xticks(range(len(words)), words if slanted else ["\n".join(listed) for listed in lines])
    if slanted:
        for label in axis.get_xticklabels():
            label.set(rotation=30, ha="right", rotation_mode="anchor")


def _bin(groups: Sequence[Group], length_s: float) -> float:
    """The width of bins over time: a share of it in whole samples."""
    times = next(each.series[0] for group in groups for each in group.found if each.series is not None)
    sample_s = float(np.median(np.diff(times)))
    return sample_s * max(1, round(length_s / _TIMES / sample_s)) if sample_s > 0 else length_s / _TIMES


def _binned(group: Group, y: str, bin_s: float, start_s: float, stop_s: float, statistic: str) -> tuple[Array, list[Estimate]]:
    """Estimates over the runs of a group in bins: of a total its last value there, of a gauge the mean of its samples."""
    total = any(names[y].kind == "total" for names in schema().series.values() if y in names)
    bins: dict[int, list[tuple[int, float]]] = {}
    for each in group.found:
        for number, value in _by_bin(each.series, bin_s, start_s, stop_s, total) if each.series is not None else ():
            bins.setdefault(number, []).append((each.run, value))
    numbers = list(range(min(bins), max(bins) + 1)) if bins and is_rate(y) else sorted(bins)
    offset = 1.0 if total or is_rate(y) else 0.5
    return bin_s * (np.array(numbers) + offset), [estimate(by_run(bins.get(number, ())), statistic) for number in numbers]


def _by_bin(series: tuple[Array, Array], bin_s: float, start_s: float, stop_s: float, total: bool) -> Iterator[tuple[int, float]]:
    t_s, values = series
    keep = (t_s >= start_s) & (t_s <= stop_s) & np.isfinite(values)
    t_s, values = t_s[keep], values[keep]
    if not t_s.size:
        return
    # A sample at the end of a bin belongs to it: it describes the time up to then.
    numbers = np.maximum(np.ceil(t_s / bin_s - 1e-9).astype(int) - 1, 0)
    firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
    found = (
        values[np.append(firsts[1:], len(values)) - 1]
        if total
        else np.add.reduceat(values, firsts) / np.diff(np.append(firsts, len(values)))
    )
    yield from zip(numbers[firsts].tolist(), found.tolist(), strict=True)
