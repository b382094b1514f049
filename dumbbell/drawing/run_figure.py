"""A figure of a run over time: delivery rate, RTT and cwnd of flows, the measurements of applications and probes, and the queues."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dumbbell import metrics
from dumbbell.drawing import entities, style
from dumbbell.drawing.entities import Drawn
from dumbbell.drawing.timeline import Line, Panel, timeline
from dumbbell.errors import BadInput
from dumbbell.metrics import Series
from dumbbell.results.imported import is_imported
from dumbbell.results.words import column_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dumbbell.results import Run

_WINDOWS = 60
"""Rates are averaged over about a sixtieth of the time axis, rounded to a whole number of samples."""
_CAPACITY = {"forward": style.REFERENCE_COLOUR, "reverse": "#999999"}
"""Colours of the lines of capacity, by direction."""
_MOST_ALIKE = 20.0
"""Medians that are further apart than by this factor are drawn on a logarithmic axis."""
_APPLICATIONS = {"latency_ms": "latency of\nrequests (ms)", "buffer_s": "playing time\nin the buffer (s)"}
_PROBES = (
    (("rtt_ms",), "RTT of\nprobes (ms)"),
    (("owd_ms", "owd_back_ms"), "one-way delay\nof probes (ms)"),
    (("jitter_ms", "jitter_back_ms"), "jitter of\nprobes (ms)"),
)
"""Series of traffic that is not bulk, and the label of their panel; the second of two goes the other way."""


def run_figure(run: Run, size: style.Size, start_s: float = 0.0, stop_s: float = math.inf, in_order: bool = False) -> Figure:
    """Draw one run; `in_order`: goodput, which rises after repairs, in place of the delivery rate.

    Raises `BadInput` if it has no samples in this time range.
    """
    drawn = entities.flows(run)
    times = max((t_s for t_s, _ in _sampled(run, drawn)), key=len, default=np.empty(0))
    if len(times) < 2:
        what = f"samples of its {'flows' if drawn else 'ports'}"
        raise BadInput(f"run {run.key[:10]} has {len(times)} {what}; expected a scenario with a shorter `sample`")
    sample_s = metrics.interval_s(times)
    shown_s = min(stop_s, float(times[-1])) - start_s
    window_s = sample_s * max(1, round(shown_s / _WINDOWS / sample_s))
    panels = [
        *(_flows(run, drawn, window_s, sample_s, in_order) if drawn else ()),
        *(_application(label, lines) for name, label in _APPLICATIONS.items() if (lines := entities.others(run, name))),
        *(Panel(label, lines, from_zero=False) for names, label in _PROBES if (lines := entities.others(run, *names))),
        *_queues(run),
    ]
    cell = ", ".join(f"{key}: {value}" for key, value in run.cell.items())
    return timeline(f"{run.name} ({cell})" if cell else run.name, panels, size, start_s, stop_s)


def _sampled(run: Run, drawn: Sequence[Drawn]) -> list[Series]:
    """Return series that show when samples were taken: the bytes received, or another series if the run was read from another tool's
    file."""
    for name in ("rx_bytes", "cwnd", "srtt_ms"):
        found = [run.series(each.entity, name) for each in drawn]
        if any(len(t_s) for t_s, _ in found):
            return found
    return list((run.all_series("backlog_packets") or run.all_series("rtt_ms", "owd_ms", "jitter_ms")).values())


def _application(label: str, lines: Sequence[Line]) -> Panel:
    """A logarithmic axis where one of them would lie on the axis of the other."""
    medians = [float(np.nanmedian(line.series[1])) for line in lines if np.any(np.isfinite(line.series[1]))]
    return Panel(label, lines, logarithmic=bool(medians) and max(medians) > _MOST_ALIKE * min(medians) > 0)


def _flows(run: Run, drawn: Sequence[Drawn], window_s: float, sample_s: float, in_order: bool) -> list[Panel]:
    def lines(name: str) -> list[Line]:
        return [each.line(run.series(each.entity, name)) for each in drawn]

    received = [(each, entities.received(run, each, in_order)) for each in drawn]
    alike = Counter(each.look for each in drawn)
    several = [each.look for each in drawn if alike[each.look] > 1]
    goodput = [_rate(each, series, window_s, sample_s) for each, series in received if alike[each.look] == 1]
    for look in dict.fromkeys(several):
        members = [(each, series) for each, series in received if each.look == look]
        goodput.append(_rate(replace(members[0][0], thin=False, end_s=math.inf), _sum([s for _, s in members]), window_s, sample_s))
    together = "\neach group together," if several else ""
    alive = [Line(each.label, run.series(each.entity, "flows"), each.colour, each.stroke) for each in drawn if each.entity[:6] == "group/"]
    return [
        Panel(
            f"{'goodput, in order' if in_order else 'delivery rate'},{together}\n{window_s:.4g} s (Mbit/s)",
            [*goodput, *_capacity(run, {each.direction for each in drawn}, window_s)],
        ),
        Panel(
            column_words("srtt_ms"),
            [line if is_imported(run) else replace(line, series=_with_gaps(line.series, sample_s)) for line in lines("srtt_ms")],
        ),
        Panel(column_words("cwnd"), lines("cwnd")),
        *([Panel("open\nconnections", alive)] if alive else ()),
    ]


def _rate(drawn: Drawn, received: Series, window_s: float, sample_s: float) -> Line:
    return drawn.line(metrics.sliding_throughput_mbit(received, window_s, sample_s))


def _sum(received: Sequence[Series]) -> Series:
    """Return the sum of cumulative series that begin when their flows do."""
    times = np.unique(np.concatenate([t_s for t_s, _ in received]))
    return times, np.sum([np.interp(times, t_s, values, left=0.0) for t_s, values in received], axis=0)


def _with_gaps(series: Series, sample_s: float) -> Series:
    """NaN where samples are missing, as of a group while none of its connections is open."""
    t_s, values = series
    after = np.flatnonzero(np.diff(t_s) > 1.5 * sample_s) + 1
    return np.insert(t_s, after, t_s[after - 1] + sample_s), np.insert(values.astype(float), after, np.nan)


def _capacity(run: Run, shown: Collection[str], window_s: float) -> list[Line]:
    """The rates of the slowest queues of the directions that are shown; one line where they are the same."""
    from dumbbell.results.capacity import capacities

    directions = {port["id"]: port["direction"] for port in (run.plan or {}).get("ports", ())}
    slowest: dict[str, Line] = {}
    for port, capacity in sorted(capacities(run).items(), key=lambda each: each[1].mean_mbit()):
        if (direction := directions[port]) in shown:
            label = "capacity" if direction == "forward" else "capacity, back"
            slowest.setdefault(direction, Line(label, capacity.steps(window_s), _CAPACITY[direction], "dotted"))
    same = len({tuple(line.series[1]) for line in slowest.values()}) == 1
    return list(slowest.values())[:1] if same else list(slowest.values())


def _queues(run: Run) -> list[Panel]:
    from dumbbell.results.capacity import capacities

    known = capacities(run)
    delays = [
        Line(line.label, (line.series[0], known[line.label].delay_ms(line.series)), line.colour, line.stroke)
        for line in entities.ports(run, "backlog_bytes")
        if line.label in known
    ]
    traced = any(known[line.label].opportunities_s is not None for line in delays)
    delay = [Panel(f"queue delay,\n{'by its trace' if traced else 'backlog/rate'} (ms)", delays)] if delays else []
    return [*delay, Panel(column_words("backlog_packets"), entities.ports(run, "backlog_packets"))]
