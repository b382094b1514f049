"""Any runs as a table: what each flow got, or each run's flows together."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dumbbell import metrics
from dumbbell.comparing.tables import Table

if TYPE_CHECKING:
    from dumbbell.results import Run

METRICS = ("throughput_mbit", "srtt_mean_ms", "srtt_p95_ms", "cwnd_mean_packets", "retransmits", "completion_s")
"""From the start of the flow until it stops or its transfer is complete: payload over elapsed time; mean and 95th percentile over the
samples of smoothed RTT; mean window over the samples; segments sent again; the time a sized transfer took, handshake included."""

RUN_METRICS = ("flows", "throughput_mbit", "jain_index", "srtt_mean_ms", "srtt_p95_ms", "retransmits", "drops", "ce_marks")
"""Of all flows of a run together: how many; payload over the time from the first start to the last stop; Jain's index of their
throughputs, each over the flow's own time; mean and 95th percentile over their samples of smoothed RTT; segments sent again; packets
dropped and CE marks set, at all ports."""


def flow_metrics(run: Run, entity: str) -> dict[str, float]:
    """METRICS of one flow, `entity` as in the counters; NaN those of samples where there are none, and the completion of what does not."""
    counters = run.counters[entity]
    active_ns = counters["active_ns"]
    window = _window(counters)
    srtt, cwnd = _sampled(run, entity, "srtt_ms"), _sampled(run, entity, "cwnd")
    return {
        "throughput_mbit": _throughput_mbit(counters["rx_bytes"], active_ns),
        "srtt_mean_ms": metrics.mean(srtt, *window) if srtt else math.nan,
        "srtt_p95_ms": metrics.percentile(srtt, 95, *window) if srtt else math.nan,
        "cwnd_mean_packets": metrics.mean(cwnd, *window) if cwnd else math.nan,
        "retransmits": float(counters["retransmits"]),
        "completion_s": completion_s(counters),
    }


def run_metrics(run: Run) -> dict[str, float]:
    """RUN_METRICS of one run; NaN what needs samples or flows where there are none."""
    flows = {entity: counters for entity, counters in run.counters.items() if entity.startswith("flow/")}
    ports = [counters for entity, counters in run.counters.items() if entity.startswith("port/")]
    windows = [_window(counters) for counters in flows.values()]
    elapsed_ns = round((max(stop for _, stop in windows) - min(start for start, _ in windows)) * metrics.NS_PER_S) if windows else 0
    received = sum(counters["rx_bytes"] for counters in flows.values())
    rates = [_throughput_mbit(counters["rx_bytes"], counters["active_ns"]) for counters in flows.values()]
    sampled = [(_sampled(run, entity, "srtt_ms"), window) for entity, window in zip(flows, windows, strict=True)]
    srtt = np.concatenate([np.empty(0), *(metrics.pooled([series], [window]) for series, window in sampled if series)])
    return {
        "flows": float(len(flows)),
        "throughput_mbit": _throughput_mbit(received, elapsed_ns),
        "jain_index": metrics.jain(rates) if rates and not any(map(math.isnan, rates)) else math.nan,
        "srtt_mean_ms": float(srtt.mean()) if srtt.size else math.nan,
        "srtt_p95_ms": float(np.percentile(srtt, 95)) if srtt.size else math.nan,
        "retransmits": float(sum(counters["retransmits"] for counters in flows.values())),
        "drops": float(sum(value for counters in ports for name, value in counters.items() if name.startswith("dropped_"))),
        "ce_marks": float(sum(counters.get("ce_marks", 0) for counters in ports)),
    }


def completion_s(counters: Mapping[str, int]) -> float:
    """From the start of a flow until the receiver has read the last byte of its transfer, s; NaN if that did not happen."""
    return counters["active_ns"] / metrics.NS_PER_S if "completed_ns" in counters else math.nan


def summary_table(runs: Sequence[Run], title: str) -> Table:
    """One row a flow."""
    keys = _keys(runs)
    rows = [[*cell, flow, *(_number(values[name]) for name in METRICS)] for cell, flow, values in _flows(runs, keys)]
    return Table(title, [*keys, "flow", *METRICS], rows)


def run_table(runs: Sequence[Run], title: str) -> Table:
    """One row a run."""
    keys = _keys(runs)
    rows = [[*(str(run.cell.get(key, "")) for key in keys), *map(_number, run_metrics(run).values())] for run in runs]
    return Table(title, [*keys, *RUN_METRICS], rows)


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


def _throughput_mbit(payload_bytes: int, elapsed_ns: int) -> float:
    return metrics.elapsed_throughput_mbit(payload_bytes, elapsed_ns) if elapsed_ns else math.nan


def _window(counters: Mapping[str, int]) -> tuple[float, float]:
    """From the start of a flow until it stops, s."""
    start_s = counters.get("start_ns", 0) / metrics.NS_PER_S
    return start_s, start_s + counters["active_ns"] / metrics.NS_PER_S


def _sampled(run: Run, entity: str, name: str) -> metrics.Series | None:
    try:
        return run.series(entity, name)
    except KeyError:
        return None


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"
