"""Results of benchmarks as a table: one line per value, with its target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

HEADER = ("benchmark", "measured", "value", "target", "")

_VALUES: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "packets_per_cpu_s": ("packets per CPU second", lambda value: f"{value / 1e6:.2f} M"),
    "instructions_per_packet": ("instructions per packet", lambda value: f"{value:,.0f}"),
    "cost_ratio": ("cost per packet, relative to a BDP of 300", lambda value: f"{value:.2f}"),
    "run_cpu_s": ("CPU time of the run, s", lambda value: f"{value:.2f}"),
    "ms": ("CPU time, ms", lambda value: f"{value:.2f}"),
    "wall_s": ("wall time, s", lambda value: f"{value:.0f}"),
    "cpu_s_per_worker": ("CPU time of each of two workers, s", lambda value: f"{value:.0f}"),
    "bytes_per_idle_flow": ("bytes per idle flow", lambda value: f"{value:,.0f}"),
    "bytes_of_10000_idle_flows": ("bytes of 10,000 idle flows", lambda value: f"{value:,.0f}"),
    "bytes_of_1000000_short_flows": ("bytes of 1,000,000 short flows made and gone", lambda value: f"{value:,.0f}"),
    "bytes_of_process": ("bytes of a process with 1,000,000 transfers", lambda value: f"{value:,.0f}"),
    "bytes_of_300000_connections": ("bytes of a process with 300,000 open connections", lambda value: f"{value:,.0f}"),
    "bytes_more_of_4_times_the_packets": ("bytes more for a capture four times as long", lambda value: f"{value:,.0f}"),
    "bytes_per_segment_in_flight": ("bytes per segment in flight, rings full", lambda value: f"{value:,.1f}"),
    "bytes_per_segment_in_flight_after_doubling": ("the same just after they doubled", lambda value: f"{value:,.1f}"),
    "bytes_of_page": ("bytes of a page with 1.02 million points", lambda value: f"{value:,.0f}"),
    "load_cpu_s": ("CPU time of its main thread until it is drawn, s", lambda value: f"{value:.2f}"),
    "step_cpu_ms": ("CPU time of its main thread for another range, ms, median of 12", lambda value: f"{value:.0f}"),
    "bytes_of_browser": ("bytes of the browser's process that shows it", lambda value: f"{value:,.0f}"),
    "filter_cpu_ms": ("CPU time of a filter of 5,000 runs, ms, median of 12", lambda value: f"{value:.0f}"),
    "select_cpu_s": ("CPU time of page and server until 72 selected runs are drawn, s", lambda value: f"{value:.2f}"),
    "select_requests": ("requests for them", lambda value: f"{value:.0f}"),
    "plot_cpu_s": ("CPU time of the first plot of 1,000 runs, one panel, s", lambda value: f"{value:.2f}"),
    "summary_plot_cpu_s": ("CPU time of their summary figure, 20 panels, s", lambda value: f"{value:.2f}"),
    "unindexed_plot_cpu_s": ("CPU time of a plot of one panel without an index, s", lambda value: f"{value:.2f}"),
}
_AT_LEAST = {"packets_per_cpu_s"}
"""Values whose target is a minimum; for all others it is a maximum."""


def lines(row: Mapping[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """For each value of a result: benchmark, quantity, value, target, and whether the target is met."""
    targets = row["targets"]
    return [
        (row["name"], label, shown(row[key]), shown(targets[key]) if key in targets else "", _verdict(key, row[key], targets.get(key)))
        for key, (label, shown) in _VALUES.items()
        if row.get(key) is not None
    ]


def _verdict(key: str, value: float, target: float | None) -> str:
    if target is None:
        return ""
    return "met" if (value >= target if key in _AT_LEAST else value <= target) else "not met"
