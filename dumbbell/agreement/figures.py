"""Figures of both engines on one time axis, for the runs that differ most."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.agreement.measures import scenario_flows
from dumbbell.drawing import style
from dumbbell.drawing.timeline import Line, Panel, timeline
from dumbbell.metrics import NS_PER_S, mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dumbbell.metrics import Series
    from dumbbell.results import Run

_MOST_FLOWS = 3
"""Maximum number of flows in a figure, those that differ most; more would hide each other."""
_PORT_COLOUR = "#444444"


def overlay(reference: Run, ours: Run, title: str, size: style.Size = "screen") -> Figure:
    """Window, smoothed RTT and backlog of one run until its last flow ends: the reference as a wide pale line, dumbbell's as a thin one."""
    runs = ((reference, True), (ours, False))
    by_entity = scenario_flows(reference)
    furthest = sorted(by_entity, key=lambda entity: -_apart(reference, ours, entity))[:_MOST_FLOWS]
    flows = [entity for entity in by_entity if entity in furthest]
    colours = style.colours([by_entity[entity].cc.kind for entity in flows])

    def lines(series: str, entities: list[str], of: list[str]) -> list[Line]:
        found = []
        for run, wide in runs:
            for entity, colour in zip(entities, of, strict=True):
                label = f"{entity.partition('/')[2]} ({run.engine['name']})"
                if (values := _series(run, entity, series)) is not None:
                    found.append(Line(label, values, colour, wide=wide))
        return found

    panels = [
        Panel("cwnd (packets)", lines("cwnd", flows, colours)),
        Panel("srtt (ms)", lines("srtt_ms", flows, colours)),
        Panel("backlog (packets)", lines("backlog_packets", [_busiest(reference)], [_PORT_COLOUR])),
    ]
    ends = [counters["start_ns"] + counters["active_ns"] for run, _ in runs for counters in (run.counters[entity] for entity in by_entity)]
    return timeline(title, panels, size, stop_s=max(ends) / NS_PER_S)


def _apart(reference: Run, ours: Run, entity: str) -> float:
    """The difference between the engines for a flow: the relative difference of its mean window or its mean RTT, whichever is greater."""

    def relative(name: str) -> float:
        both = [_series(run, entity, name) for run in (reference, ours)]
        theirs, mine = (math.nan if series is None else mean(series) for series in both)
        return abs(mine - theirs) / theirs if theirs and math.isfinite(mine - theirs) else 0.0

    return max(relative("cwnd"), relative("srtt_ms"))


def _busiest(run: Run) -> str:
    """The port with most drops and marks; without any, the port with the largest mean backlog."""
    ports = [entity for entity in run.counters if entity.startswith("port/")]

    def held(entity: str) -> tuple[int, float]:
        counters, backlog = run.counters[entity], _series(run, entity, "backlog_packets")
        lost = counters["dropped_overflow"] + counters["dropped_aqm"] + counters.get("ce_marks", 0)
        return lost, 0.0 if backlog is None else float(np.mean(backlog[1]))

    return max(ports, key=held)


def _series(run: Run, entity: str, name: str) -> Series | None:
    try:
        return run.series(entity, name)
    except KeyError:
        return None
