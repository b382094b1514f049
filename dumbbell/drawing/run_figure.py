"""A figure of a run over time: throughput, RTT, cwnd, latency of requests, and backlog."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dumbbell import metrics
from dumbbell.drawing import style
from dumbbell.drawing.timeline import Line, Panel, timeline
from dumbbell.errors import BadInput

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dumbbell.results import Run

_WINDOWS = 60
"""Throughput is averaged over about a sixtieth of the time axis, rounded to a whole number of samples."""


def run_figure(run: Run, size: style.Size, start_s: float = 0.0, stop_s: float = math.inf) -> Figure:
    """Draw one run. Raises `BadInput` if it has no samples in this time range."""
    flows = [*_flows(run), *_groups(run)]
    backlogs = {entity: series for (entity, _), series in run.all_series("backlog_packets").items()}
    sampled = [run.series(entity, "rx_bytes") for entity, _, _ in flows] or [*backlogs.values()]
    times = max((t_s for t_s, _ in sampled), key=len, default=np.empty(0))
    if len(times) < 2:
        what = f"samples of its {'flows' if flows else 'ports'}"
        raise BadInput(f"run {run.key[:10]} has {len(times)} {what}; expected a scenario with a shorter `sample`")
    colours = style.colours([cc for _, _, cc in flows])
    sample_s = float(times[1] - times[0])
    shown_s = min(stop_s, float(times[-1])) - start_s
    window_s = sample_s * max(1, round(shown_s / _WINDOWS / sample_s))

    def lines(name: str) -> list[Line]:
        return [Line(label, run.series(entity, name), colour) for (entity, label, _), colour in zip(flows, colours, strict=True)]

    rates = [Line(line.label, metrics.sliding_throughput_mbit(line.series, window_s, sample_s), line.colour) for line in lines("rx_bytes")]
    ports = [entity for entity, (_, values) in backlogs.items() if np.any(values > 0)]
    port_colours = ("#444444", "#999999", "#BBBBBB")
    of_flows = [
        Panel(f"throughput,\n{window_s:g} s (Mbit/s)", rates),
        Panel("srtt (ms)", lines("srtt_ms")),
        Panel("cwnd (packets)", lines("cwnd")),
    ]
    latencies = _latencies(run)
    panels = [
        *(of_flows if flows else ()),
        *([Panel("latency of\nrequests (ms)", latencies)] if latencies else ()),
        Panel(
            "backlog (packets)",
            [Line(entity.removeprefix("port/"), backlogs[entity], port_colours[i % len(port_colours)]) for i, entity in enumerate(ports)],
        ),
    ]
    cell = ", ".join(f"{key}: {value}" for key, value in run.cell.items())
    return timeline(f"{run.name} ({cell})" if cell else run.name, panels, size, start_s, stop_s)


def _flows(run: Run) -> list[tuple[str, str, str]]:
    """(entity, label, cc) of the flows that were sampled."""
    from dumbbell.results import asked_flows

    ccs = {name: flow.cc.kind for name, flow in asked_flows(run).items()}
    found = []
    for entity in run.counters:
        name = entity.removeprefix("flow/")
        if name in ccs and entity.startswith("flow/"):
            try:
                run.series(entity, "cwnd")
            except KeyError:
                continue
            found.append((entity, name if ccs[name] in name else f"{name} ({ccs[name]})", ccs[name]))
    return found


def _groups(run: Run) -> list[tuple[str, str, str]]:
    """(entity, label, cc) of the groups of connections that come and go and were sampled."""
    sampled = run.all_series("cwnd")
    ccs = zip(run.groups.names, run.groups.column("cc"), strict=True)
    return [(f"group/{name}", name, str(cc)) for name, cc in ccs if (f"group/{name}", "cwnd") in sampled]


def _latencies(run: Run) -> list[Line]:
    """The latency of the requests of each connection that has such."""
    ccs = dict(zip(run.flows.names, run.flows.column("cc"), strict=True))
    found = {entity.removeprefix("flow/"): series for (entity, _), series in run.all_series("latency_ms").items()}
    colours = style.colours([str(ccs[name]) for name in found])
    return [Line(name, series, colour) for (name, series), colour in zip(found.items(), colours, strict=True)]
