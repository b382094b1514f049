"""The figure that was asked for."""

from __future__ import annotations

import hashlib
import math
import re
from typing import TYPE_CHECKING

from dumbbell.comparing.across.estimates import ONE, STATISTICS, counts
from dumbbell.comparing.across.questions import DISTRIBUTIONS, MOST_NAMES, Settled, between
from dumbbell.drawing.across.scales import PLAIN, Scales, checked
from dumbbell.drawing.across.wording import Wording, applied
from dumbbell.drawing.style import GEOMETRY, Size
from dumbbell.results.columns import bare, is_delay
from dumbbell.results.words import column_name, column_words, key_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MORE_IS_BETTER = ("goodput_mbit", "flow_goodput_mbit", "jain_index")
_LONGEST = 120
"""Characters of the name of a file."""


def across_figure(
    settled: Settled, wording: Wording, size: Size, start_s: float = 0.0, stop_s: float = math.inf, scales: Scales = PLAIN
) -> Figure:
    """Draw it. Below the title it describes the figure: the statistic, and the number of runs.

    At the sizes of papers, whose captions say it, a figure has no title but one that is set, and no description.

    Raises `BadInput` if a range of times is given for values without times, no sample lies in it, or a text or a scale has no place.
    """
    settled = between(settled, start_s, stop_s)
    wording, scales = applied(settled, wording), checked(scales, settled)
    of_paper = GEOMETRY[size].of_paper
    title = ("" if of_paper else with_titles(settled)) if wording.title is None else wording.title
    # The note depends on the values (how many runs each estimate has), and the layout on the note: so the values are read first.
    note = describe(settled, start_s, stop_s) if title and not of_paper else ""
    if settled.over_time:
        from dumbbell.drawing.across.lines import time_lines

        return time_lines(settled, title, note, wording, scales, size, start_s, stop_s)
    if settled.kind == "lines":
        from dumbbell.drawing.across.lines import level_lines

        return level_lines(settled, title, note, wording, scales, size)
    if settled.kind == "box":
        from dumbbell.drawing.across.spread import boxes

        return boxes(settled, title, note, wording, scales, size)
    if settled.kind in DISTRIBUTIONS:
        from dumbbell.drawing.across.spread import distributions

        return distributions(settled, title, note, wording, scales, size, _each(settled))
    if settled.kind == "scatter":
        from dumbbell.drawing.across.ellipses import ellipses

        return ellipses(settled, title, note, wording, scales, size)
    from dumbbell.drawing.across.cells import heat_map

    return heat_map(settled, title, note, wording, size)


def with_titles(settled: Settled) -> str:
    """A title: which scenario, what, and over what."""
    names = ", ".join(name for name in settled.names[:MOST_NAMES] if name) + (" ..." if len(settled.names) > MOST_NAMES else "")
    brief = len(settled.y) > 2
    titles = {name: title.partition(" (")[0] if brief else title for name, title in settled.titles.items()}
    rows = ", ".join(titles.get(y) or (column_name(y) if brief else column_words(y)) for y in settled.y)
    rows = f"distribution of {rows}" if settled.kind in DISTRIBUTIONS else rows
    axis = f" over {key_words(settled.x, settled.named)}" if settled.x else ""
    if settled.kind == "scatter":
        axis = f" against {column_words(settled.x)}"
    elif settled.kind == "heat":
        axis += f" and {key_words(settled.by[0], settled.named)}"
    return f"{names}: {rows}{axis}" if names else f"{rows}{axis}"


def describe(settled: Settled, start_s: float = 0.0, stop_s: float = math.inf) -> str:
    """Return the description below a figure."""
    from dumbbell.drawing.across.repeats import repeats

    pooled = f", all values of {' and '.join(key_words(key, settled.named) for key in settled.pooled)} together" if settled.pooled else ""
    of = counts(repeats(settled))
    if settled.kind == "box":
        what = "quartiles, median, whiskers within 1.5 times their distance; each box is of"
        return f"{what} {_values(settled)}{of}{_between(start_s, stop_s)}{pooled}"
    if settled.kind in DISTRIBUTIONS:
        return f"each line is of {_values(settled)}{of}{_between(start_s, stop_s)}{pooled}"
    if settled.kind == "scatter":
        return f"{_ellipses(settled)}{of} each{_between(start_s, stop_s)}{pooled}{_better(settled)}"
    if settled.over_time and all(_alone(settled)):
        return f"{_sampled(settled)}{_between(start_s, stop_s)}"
    if of == counts([ONE]):
        return f"{of} each{_between(start_s, stop_s)}{_inside(settled)}"
    what = STATISTICS[settled.statistic] if settled.kind != "heat" else STATISTICS[settled.statistic].partition(",")[0]
    return f"{what} of {of} each{_between(start_s, stop_s)}{pooled}{_inside(settled)}"


def _ellipses(settled: Settled) -> str:
    """Return the description of a scatter plot's points and ellipses for this number of runs."""
    from dumbbell.drawing.across.ellipses import FEWEST
    from dumbbell.drawing.across.repeats import repeats

    several = [each.count for each in repeats(settled) if each.count]
    if max(several, default=0) < FEWEST:
        return "" if max(several, default=0) < 2 else "mean of "
    some = "" if min(several) >= FEWEST else f" (from {FEWEST} runs on)"
    return f"mean and ellipse of one standard deviation{some} of "


def _sampled(settled: Settled) -> str:
    """Return the description of lines that are one series each."""
    if settled.window_s is None:
        return "as sampled"
    windows = f"goodput in windows of {settled.window_s:.3g} s"
    return windows if len(settled.y) == 1 else f"{windows}, the rest as sampled"


def file_name(settled: Settled) -> str:
    """Return the name of its files, without an end: `goodput-over-rtt-by-qdisc`. All that changes the figure is part of the name."""
    asked = settled.asked
    kind = "" if settled.kind in ("lines", "scatter") else f"{settled.kind}-"
    axis = f"-against-{bare(settled.x)}" if settled.kind == "scatter" else f"-over-{settled.short(settled.x)}"
    words = f"{kind}{'-'.join(map(_named, settled.y))}{axis if settled.x else ''}"
    words += f"-by-{'-'.join(map(settled.short, settled.by))}" if settled.by else ""
    words += f"-panels-{settled.short(settled.panels)}" if settled.panels else ""
    words += f"-per-{asked.per}" if asked.per else ""
    words += f"-pooled-{'-'.join(map(settled.short, settled.pooled))}" if asked.over else ""
    words += "".join(f"-where-{each.replace('=', '-', 1)}" for each in asked.where)
    words += f"-{asked.statistic}" if asked.statistic else ""
    words += "-samples" if asked.samples else ""
    words += f"-window-{asked.window_s:g}s" if asked.window_s else ""
    return words


def as_file_name(words: str) -> str:
    """Words as a name of a file; of a long one its beginning, and a hash that tells it from others that begin alike."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", words)
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}-{hashlib.sha256(words.encode()).hexdigest()[:8]}"


def _named(column: str) -> str:
    """A column without its unit, unless that tells it from another."""
    return column if column.endswith(("_packets", "_bytes")) else bare(column)


def _each(settled: Settled) -> str:
    return "samples" if settled.of_series else "runs" if set(settled.per.values()) == {"run"} else f"{next(iter(settled.per.values()))}s"


def _values(settled: Settled) -> str:
    return "" if _each(settled) == "runs" else f"the {_each(settled)} of "


def _inside(settled: Settled) -> str:
    """Return what was averaged within each run first."""
    from dumbbell.drawing.across.repeats import members

    several = any(len({each.run for each in found}) < len(found) for found in members(settled))
    kind = next((per for per in settled.per.values() if per != "run"), "")
    return f"; {kind}s of one run that look alike are averaged first" if several and kind else ""


def _better(settled: Settled) -> str:
    """Return which way is better, if that is known."""
    if not is_delay(settled.x):
        return ""
    good = all(y.rpartition(".")[2] in _MORE_IS_BETTER for y in settled.y)
    return f"; delay axis reversed{': up and to the right is better' if good else ''}"


def _alone(settled: Settled) -> list[bool]:
    from dumbbell.drawing.across.repeats import members

    return [len(found) == 1 for found in members(settled)]


def _between(start_s: float, stop_s: float) -> str:
    if math.isinf(stop_s):
        return f", from {start_s:g} s on" if start_s else ""
    return f", {start_s:g} to {stop_s:g} s"
