"""Any runs as a table: what each flow got."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dumbbell import metrics
from dumbbell.report.tables import Table

if TYPE_CHECKING:
    from dumbbell.results import Run

METRICS = ("throughput_mbit", "srtt_mean_ms", "srtt_p95_ms", "cwnd_mean_packets", "retransmits", "completion_s")
"""From the start of the flow until it stops or its transfer is complete: payload over elapsed time; mean and 95th percentile over the
samples of smoothed RTT; mean window over the samples; segments sent again; the time a sized transfer took, handshake included."""


def flow_metrics(run: Run, entity: str) -> dict[str, float]:
    """METRICS of one flow, `entity` as in the counters; NaN those of samples where there are none, and the completion of what does not."""
    counters = run.counters[entity]
    active_ns = counters["active_ns"]
    start_s = counters.get("start_ns", 0) / metrics.NS_PER_S
    window = (start_s, start_s + active_ns / metrics.NS_PER_S)

    def sampled(name: str) -> metrics.Series | None:
        try:
            return run.series(entity, name)
        except KeyError:
            return None

    srtt, cwnd = sampled("srtt_ms"), sampled("cwnd")
    return {
        "throughput_mbit": metrics.elapsed_throughput_mbit(counters["rx_bytes"], active_ns) if active_ns else math.nan,
        "srtt_mean_ms": metrics.mean(srtt, *window) if srtt else math.nan,
        "srtt_p95_ms": metrics.percentile(srtt, 95, *window) if srtt else math.nan,
        "cwnd_mean_packets": metrics.mean(cwnd, *window) if cwnd else math.nan,
        "retransmits": float(counters["retransmits"]),
        "completion_s": completion_s(counters),
    }


def completion_s(counters: Mapping[str, int]) -> float:
    """From the start of a flow until the receiver has read the last byte of its transfer, s; NaN if that did not happen."""
    return counters["active_ns"] / metrics.NS_PER_S if "completed_ns" in counters else math.nan


def summary_table(runs: Sequence[Run], title: str) -> Table:
    """One row a flow."""
    keys = _keys(runs)
    rows = [[*cell, flow, *(_number(values[name]) for name in METRICS)] for cell, flow, values in _flows(runs, keys)]
    return Table(title, [*keys, "flow", *METRICS], rows)


def summary_tidy(runs: Sequence[Run]) -> str:
    """CSV: one row a flow and metric."""
    keys = _keys(runs)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*keys, "flow", "metric", "value"])
    for cell, flow, values in _flows(runs, keys):
        writer.writerows([*cell, flow, name, _number(value)] for name, value in values.items())
    return out.getvalue()


def _keys(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(key for run in runs for key in run.cell))


def _flows(runs: Sequence[Run], keys: Sequence[str]) -> list[tuple[list[str], str, dict[str, float]]]:
    return [
        ([str(run.cell.get(key, "")) for key in keys], entity.removeprefix("flow/"), flow_metrics(run, entity))
        for run in runs
        for entity in run.counters
        if entity.startswith("flow/")
    ]


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"
