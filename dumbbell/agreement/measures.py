"""The compared metrics: pure functions of a run, the same for every engine, with the same window. Start-up is included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from dumbbell import metrics
from dumbbell.comparing.format import Format, Measured, Metric, Tolerance
from dumbbell.scenario import Transfers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dumbbell.results import Run
    from dumbbell.scenario import Flow

ALL = "all flows"
"""The entity of metrics that cover all flows; other entities are single flows and ports."""

_PACKETS = Tolerance(relative=0.5, absolute=5.0)
METRICS: Mapping[str, Metric] = {
    "goodput": Metric("Mbit/s", "goodput", Tolerance(relative=0.05), floor=0.01, centre=fmean),
    "rtt_mean": Metric("ms", "mean srtt", Tolerance(relative=0.10), floor=1.0, centre=fmean),
    "rtt_p95": Metric("ms", "p95 srtt", Tolerance(relative=0.15), floor=1.0),
    "queue_delay": Metric("ms", "mean queueing delay", Tolerance(relative=0.15), floor=1.0, centre=fmean),
    "cwnd_mean": Metric("packets", "mean cwnd", Tolerance(relative=0.15), floor=4.0),
    "probe_rtt": Metric("ms", "mean RTT of probes", Tolerance(relative=0.08), floor=1.0, centre=fmean),
    "share": Metric("", "share of a flow", Tolerance(absolute=0.05), floor=0.02),
    "jain": Metric("", "Jain's index", Tolerance(absolute=0.1)),
    "drops": Metric("packets", "drops", _PACKETS, floor=10.0),
    "ce_marks": Metric("packets", "CE marks", _PACKETS, floor=10.0),
    "retransmits": Metric("packets", "retransmits", _PACKETS, floor=10.0),
    "completion": Metric("s", "completion", Tolerance(relative=0.10, absolute=0.02), floor=0.02),
    "latency_median": Metric("ms", "median latency", Tolerance(relative=0.10), floor=1.0),
    "latency_p95": Metric("ms", "p95 latency", Tolerance(relative=0.20), floor=1.0),
    "transactions": Metric("", "transactions", Tolerance(relative=0.10, absolute=2.0), floor=10.0),
    "stalled": Metric("s", "stalled", Tolerance(relative=0.20, absolute=0.5), floor=1.0),
    "transfers_median": Metric("ms", "median completion of transfers", Tolerance(relative=0.10), floor=1.0, centre=fmean),
    "transfers_p95": Metric("ms", "p95 completion of transfers", Tolerance(relative=0.20), floor=1.0, centre=fmean),
}
"""`floor`: the smallest denominator of a relative difference, which is otherwise the reference's value. The tolerance is used only to rank
the differences.

`centre`: how the values of a scenario's runs are combined. Metrics that are means are averaged, because with few losses they are
bimodal (slow start ends early or late, a retransmission is lost or not) and a median would be one mode or the other by chance. For the
other metrics it is the median.
"""
DEFINITIONS: Mapping[str, str] = {
    "goodput": "payload read by all receivers over the time from the first start until the last flow has ended or the run has",
    "rtt_mean": "mean of all samples of smoothed RTT of all flows, from the start of each until it is stopped or complete",
    "rtt_p95": "95th percentile of the same samples",
    "queue_delay": "mean of all samples of a port's backlog over its rate of departures (Little's law). Only where packets wait 1 ms",
    "cwnd_mean": "mean of all samples of the window, at the same times",
    "probe_rtt": "mean over the datagrams of a stream of the time from sending to the reply, as pings measure it",
    "share": "a bulk flow's payload over the time it was active, divided by the sum over the bulk flows. Only with several bulk flows",
    "jain": "Jain's index of the same rates",
    "drops": "packets that a port dropped in the whole run. Only where either engine dropped any",
    "ce_marks": "packets that a port marked in the whole run. Only where either engine marked any",
    "retransmits": "retransmitted segments of all flows over the whole run. Only where either engine has any",
    "completion": "time of a sized transfer until its last byte is read, or the time it had. Only where it completes on either engine",
    "latency_median": "median of the latencies of an entry's requests, pages, chunks or writes. Only where any ended on either engine",
    "latency_p95": "their 95th percentile",
    "transactions": "their number",
    "stalled": "total time that an entry's players stalled. Only where any did on either engine",
    "transfers_median": (
        "median time from connect() to the last byte read over the connections that came and went and are complete, the mean of that over "
        "the draws of their arrivals (one a start, the same on both engines)"
    ),
    "transfers_p95": "95th percentile of the same times, likewise",
}
"""The definition of each metric, with its time window and the scenarios to which it applies."""
COMPLETED = "completed"
"""Measured with `completion`: whether the transfer completed, 0 or 1."""
QUEUES = "queues"
"""Measured with `queue_delay`: whether packets wait long enough for it to be compared, 0 or 1."""
_LEAST_DELAY_MS = 1.0
ONLY_WHERE: Mapping[str, str] = {
    "queue_delay": QUEUES,
    "drops": "drops",
    "ce_marks": "ce_marks",
    "retransmits": "retransmits",
    "completion": COMPLETED,
    "latency_median": "transactions",
    "latency_p95": "transactions",
    "transactions": "transactions",
    "stalled": "stalled",
}
"""Metrics that are compared only where this one is above 0 on either engine: two runs without drops do not show agreement on drops."""

_DROPPED = ("dropped_overflow", "dropped_aqm", "dropped_blue")
"""Counters of drops by the queue. Packets lost in an outage are not among them: they have left the queue already."""


def measures(run: Run) -> dict[tuple[str, str], float]:
    """(entity, metric) -> value for one run, in the units of METRICS; NaN without samples. Reads the series only once."""
    from dumbbell.results.tables import entity_of

    flows = {entity: values for entity, values in run.counters.items() if entity.startswith("flow/")}
    starts = {entity: values.get("start_ns", 0) for entity, values in flows.items()}
    ends = {entity: starts[entity] + values["active_ns"] for entity, values in flows.items()}
    found = _of_all(run, flows, starts, ends) if flows else {}
    bulk = _rates(run)
    if len(bulk) > 1:
        found[ALL, "jain"] = metrics.jain(list(bulk.values()))
        found |= {(entity, "share"): share for entity, share in shares(run).items()}
    for entity, values in run.counters.items():
        if entity.startswith("port/"):
            found[entity, "drops"] = float(sum(values.get(cause, 0) for cause in _DROPPED))
            found[entity, "ce_marks"] = float(values.get("ce_marks", 0))
    for row in run.flows.rows():
        if "rtt_mean_ms" in row:
            found[entity_of(row), "probe_rtt"] = row["rtt_mean_ms"]
    for entity, delay_ms in _queue_delays(run).items():
        found[entity, "queue_delay"] = delay_ms
        found[entity, QUEUES] = float(delay_ms >= _LEAST_DELAY_MS)
    for row in run.groups.rows():
        if row.get("kind") == Transfers.model_fields["kind"].default and "sizes" not in row and row["completed"]:
            for statistic in ("median", "p95"):
                found[f"group/{row['group']}", f"transfers_{statistic}"] = row[f"completion_{statistic}_ms"]
    for entity, flow in scenario_flows(run).items():
        if flow.bytes is not None:
            found[entity, "completion"] = flows[entity]["active_ns"] / metrics.NS_PER_S
            found[entity, COMPLETED] = float("completed_ns" in flows[entity])
    for row in run.groups.rows():
        if "transactions" in row:
            entity = f"group/{row['group']}"
            found[entity, "transactions"] = float(row["transactions"])
            found |= {(entity, f"latency_{name}"): row.get(f"latency_{name}_ms", np.nan) for name in ("median", "p95")}
        if "stalled_ms" in row:
            found[entity, "stalled"] = row["stalled_ms"] / 1e3
    return found


def shares(run: Run) -> dict[str, float]:
    """Bulk flow -> its share of the sum of their rates, each over the time that it was active; NaN if nothing arrived."""
    rates = _rates(run)
    total = sum(rates.values())
    return {entity: rate / total if total else np.nan for entity, rate in rates.items()}


def _rates(run: Run) -> dict[str, float]:
    """Bulk flow -> its payload over the time that it was active, Mbit/s."""
    counters = {entity: run.counters[entity] for entity in scenario_flows(run)}
    return {entity: metrics.elapsed_throughput_mbit(values["rx_bytes"], max(1, values["active_ns"])) for entity, values in counters.items()}


def _of_all(
    run: Run, flows: Mapping[str, Mapping[str, int]], starts: Mapping[str, int], ends: Mapping[str, int]
) -> dict[tuple[str, str], float]:
    """Return the totals of all connections that have counters."""
    elapsed_ns = max(ends.values()) - min(starts.values())
    received = sum(values["rx_bytes"] for values in flows.values())
    srtt, cwnd = _samples(run, starts, ends)
    return {
        (ALL, "goodput"): metrics.elapsed_throughput_mbit(received, elapsed_ns) if elapsed_ns else np.nan,
        (ALL, "rtt_mean"): float(np.mean(srtt)) if srtt.size else np.nan,
        (ALL, "rtt_p95"): float(np.percentile(srtt, 95)) if srtt.size else np.nan,
        (ALL, "cwnd_mean"): float(np.mean(cwnd)) if cwnd.size else np.nan,
        (ALL, "retransmits"): float(sum(values["retransmits"] for values in flows.values())),
    }


def measured(runs: Sequence[Run]) -> Measured:
    """The values of several runs by scenario and entity, one value per run."""
    found: Measured = {}
    for run in runs:
        for (entity, metric), value in measures(run).items():
            found.setdefault(((run.name, entity), metric), []).append(value)
    return found


FORMAT = Format(
    name="agreement of engines",
    columns=("scenario", "entity", "metric", "value"),
    keys=("scenario", "entity"),
    numbers=frozenset(),
    metrics=METRICS,
    measure=measured,
)


def _samples(run: Run, starts: Mapping[str, int], ends: Mapping[str, int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Samples of smoothed RTT (ms) and of cwnd (packets), each of shape (samples,), of all flows while they are active and have an RTT.

    Before the first RTT sample a socket is not connected, and the engines report different windows for it.
    """
    import polars as pl

    frame = run.frame.filter(pl.col("series").is_in(["srtt_ms", "cwnd"]) & pl.col("entity").is_in(list(starts)))
    bounds = pl.DataFrame({"entity": list(starts), "start": list(starts.values()), "end": list(ends.values())})
    within = frame.join(bounds, on="entity").filter(pl.col("t_ns").is_between(pl.col("start"), pl.col("end")) & pl.col("value").is_finite())
    srtt, cwnd = (within.filter(pl.col("series") == name) for name in ("srtt_ms", "cwnd"))
    known = cwnd.join(srtt, on=["entity", "t_ns"], how="semi")
    return srtt.sort("entity", "t_ns")["value"].to_numpy(), known.sort("entity", "t_ns")["value"].to_numpy()


def _queue_delays(run: Run) -> dict[str, float]:
    """Port -> mean queueing delay (ms), for queues whose backlog is sampled and that sent any packet. Delay stages are left out."""
    import polars as pl

    found = {}
    wanted = [f"port/{port['id']}" for port in run.required_plan["ports"] if port["kind"] == "queue"]
    sampled = run.frame.filter((pl.col("series") == "backlog_packets") & pl.col("entity").is_in(wanted))
    for (entity,), samples in sorted(sampled.sort("t_ns").partition_by("entity", as_dict=True).items()):
        sent = run.counters[entity]["sent_packets"]
        elapsed_s = float(samples["t_ns"][-1]) / metrics.NS_PER_S
        if sent and elapsed_s:
            found[entity] = metrics.queueing_delay_ms(samples["value"].to_numpy(), sent / elapsed_s)
    return found


def scenario_flows(run: Run) -> dict[str, Flow]:
    """Entity -> the scenario's entry of that flow."""
    from dumbbell.results import asked_flows

    return {f"flow/{name}": flow for name, flow in asked_flows(run).items()}
