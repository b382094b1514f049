"""Figures of kernel and simulator on one time axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dumbbell import metrics
from dumbbell.drawing import style
from dumbbell.drawing.timeline import Line, Panel, timeline
from dumbbell.metrics import Series
from dumbbell.study.model import View
from dumbbell_studies.oracle.published_runs import kernel_runs, kernel_series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dumbbell.results import Run

FLOW, BOTTLENECK = "flow/0", "port/bottleneck"
_WINDOW_S = 0.5


def overlay(name: str, runs: Sequence[Run], view: View) -> Figure:
    """All series of a run that both engines record: cwnd, ssthresh, RTT, backlog, drops or marks, retransmissions, goodput."""
    kernel = kernel_runs()[name]
    run = next((run for run in runs if run.cell.get("run") == name), None)
    colour = style.colour(kernel.cc)

    def both(column: str, entity: str, series: str) -> list[Line]:
        lines = [Line("Linux", kernel_series(name, column), style.REFERENCE_COLOUR, wide=True)]
        return lines + ([Line("simulator", run.series(entity, series), colour)] if run else [])

    def goodput(received: Series) -> Series:
        return metrics.sliding_throughput_mbit(received, _WINDOW_S, 0.1)

    rates = [Line(line.label, goodput(line.series), line.colour, wide=line.wide) for line in both("rx_bytes", FLOW, "rx_bytes")]
    signals = ("CE marks", "delivered_ce", "ce_marks") if kernel.marks else ("drops", "drops", "drops")
    panels = [
        Panel("cwnd (packets)", both("cwnd", FLOW, "cwnd"), from_zero=False),
        Panel("ssthresh (packets)", both("ssthresh", FLOW, "ssthresh"), from_zero=False),
        Panel("srtt (ms)", both("srtt_ms", FLOW, "srtt_ms"), mark=kernel.rtt_ms, from_zero=False),
        Panel("backlog (packets)", both("backlog_packets", BOTTLENECK, "backlog_packets")),
        Panel(f"{signals[0]} (sum)", both(signals[1], BOTTLENECK, signals[2])),
        Panel("retransmits (sum)", both("retransmits", FLOW, "retransmits")),
        Panel(f"goodput, {_WINDOW_S:g} s (Mbit/s)", rates),
    ]
    queue = f"{kernel.queue} {kernel.limit_packets}" if kernel.limit_packets else kernel.queue
    title = f"{name}: {kernel.cc}, {kernel.rate_mbit:g} Mbit/s, {kernel.rtt_ms:g} ms, {queue}"
    return timeline(title, panels, view.size, view.start_s, view.stop_s)
