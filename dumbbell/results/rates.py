"""Rates and delays of flows, groups, ports and classes over a window, from their series.

A number that the series of a run do not tell is NaN: bytes of a flow at the bottleneck without `series: {shares: [...]}`, classes over time
without `series: [queue]`, and the drops of a flow over a part of the run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell import metrics
from dumbbell.results.bottleneck import BOTTLENECK_METRICS, bottleneck_metrics
from dumbbell.results.summary import queues_in, tcp_ends
from dumbbell.results.windowed import Counters, Window, percentile

if TYPE_CHECKING:
    from dumbbell.results.run import Run

_DELAYS = ("queue_delay_mean_ms", "queue_delay_p95_ms", "queue_delay_p99_ms")
FLOW_RATES = ("bottleneck_mbit", "utilisation", *_DELAYS, "loss_rate", "mark_rate", "retransmission_rate")
"""Bytes of the flow that the bottleneck handed on, headers included, and as a share of its rate; smoothed RTT over the RTT of the empty
path; dropped over sent packets; marked over delivered segments; segments retransmitted over those and the delivered ones."""
GROUP_RATES = (*FLOW_RATES, "jain")
"""The same of the flows of a group together, and Jain's index of their goodput in the window."""
PORT_RATES = ("bottleneck_mbit", "utilisation", *_DELAYS, "loss_rate", "mark_rate", "drops", "ce_marks")
"""The columns of the bottleneck, and the packets that the port dropped and marked in the window."""
CLASS_RATES = ("arrived_packets", "dropped_packets", "ce_marks", "loss_rate", "mark_rate", *_DELAYS)
"""Packets offered, dropped and marked in the window; dropped and marked over offered; delays where the discipline keeps them."""
RATES: Mapping[str, tuple[str, ...]] = {
    "run": BOTTLENECK_METRICS,
    "flow": FLOW_RATES,
    "group": GROUP_RATES,
    "port": PORT_RATES,
    "class": CLASS_RATES,
}
"""Kind of row -> the columns that are computed when a table asks for them."""

Row = dict[str, float]


def rates(run: Run, per: str, window: Window) -> dict[str, Row]:
    """Return the columns of `RATES` by the name of the flow, group, port or class; of a run by the empty name."""
    if per == "run":
        return {"": bottleneck_metrics(run, window)}
    return _READERS[per](run, Counters(run), window)


def names(run: Run, per: str) -> list[str]:
    """Return the names of the ports with a queue, or of the classes, of a run."""
    if per == "port":
        return [str(port["id"]) for port in (run.plan or {}).get("ports", ()) if port.get("kind") == "queue"]
    return [str(row["tin"]) for row in run.tins.rows()]


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.nan


def _delays(values: metrics.Array) -> Row:
    numbers = (float(values.mean()) if values.size else math.nan, percentile(values, 95), percentile(values, 99))
    return dict(zip(_DELAYS, numbers, strict=True))


def _bottleneck(run: Run, counters: Counters, window: Window) -> tuple[str, float]:
    """Return the queue of which the largest share was used, and its rate in Mbit/s; an empty name and NaN without one."""
    queues = queues_in(run, tcp_ends(run, window.within(counters.duration_s)), counters.series)
    known = {port: values["utilisation"] for port, values in queues.items() if not math.isnan(values["utilisation"])}
    if not known:
        return "", math.nan
    name = max(known, key=lambda each: known[each])
    (port,) = (each for each in (run.plan or {})["ports"] if each["id"] == name)
    return name, port["shaper"].get("rate_bps", port["qdisc"].get("rate_bps")) / 1e6


def _base_rtts_ms(run: Run) -> dict[str, float]:
    """Return the RTT of the empty path of each group."""
    plan: Mapping[str, Any] = run.plan or {}
    paths = [path.get("base_rtt_ns") for path in plan.get("paths", ())]
    found = {}
    for workload in plan.get("workloads", ()):
        place = workload.get("tcp", workload)
        path = place.get("path")
        if isinstance(path, int) and path < len(paths) and paths[path] is not None:
            found[str(place.get("id"))] = paths[path] / 1e6
    return found


def _flow_rows(run: Run, counters: Counters, window: Window, groups: Mapping[str, Sequence[str]]) -> dict[str, Row]:
    """Return the row of each group of flows, by its name."""
    start_s, stop_s = window.start_s, window.within(counters.duration_s).stop_s
    rows = {str(row["flow"]): row for row in run.flows.rows()}
    port, rate_mbit = _bottleneck(run, counters, window)
    shares = run.all_series("sent_bytes")
    bases = _base_rtts_ms(run)
    found = {}
    for name, flows in groups.items():
        entities = [f"flow/{flow}" for flow in flows]

        def added(series: str, entities: Sequence[str] = entities) -> float:
            return math.fsum(counters.of_flow(entity, series).between(start_s, stop_s) for entity in entities)

        delivered, marked, again = added("delivered"), added("delivered_ce"), added("retransmits")
        passed = [shares.get((f"share/{port}/{entity}", "sent_bytes")) for entity in entities]
        seconds = stop_s - start_s
        waits = [
            counters.values(entity, "srtt_ms", start_s, stop_s) - bases.get(str(rows[flow].get("group")), math.nan)
            for flow, entity in zip(flows, entities, strict=True)
        ]
        together = np.concatenate(waits) if waits else np.empty(0)
        mbit = math.nan
        if passed and all(each is not None for each in passed) and seconds > 0:
            mbit = math.fsum(_between(each, start_s, stop_s) for each in passed) * 8 / seconds / 1e6
        found[name] = {
            "bottleneck_mbit": mbit,
            "utilisation": mbit / rate_mbit,
            **_delays(together[np.isfinite(together)]),
            "loss_rate": _lost(rows[flow] for flow in flows) if window.is_whole else math.nan,
            "mark_rate": _ratio(marked, delivered),
            "retransmission_rate": _ratio(again, again + delivered),
        }
    return found


def _between(series: metrics.Series | None, start_s: float, stop_s: float) -> float:
    from dumbbell.results.windowed import Counter

    return Counter(series).between(start_s, stop_s)


def _lost(rows: Iterable[Mapping[str, Any]]) -> float:
    """Dropped over sent packets; NaN if the engine does not count the drops of a flow."""
    listed = list(rows)
    dropped, sent = ([row.get(name) for row in listed] for name in ("dropped_packets", "sent_packets"))
    if None in dropped or None in sent:
        return math.nan
    return _ratio(sum(filter(None, dropped)), sum(filter(None, sent)))


def _flows(run: Run, counters: Counters, window: Window) -> dict[str, Row]:
    return _flow_rows(run, counters, window, {flow: [flow] for flow in run.flows.connections})


def _groups(run: Run, counters: Counters, window: Window) -> dict[str, Row]:
    members: dict[str, list[str]] = {}
    connections = set(run.flows.connections)
    for row in run.flows.rows():
        if str(row["flow"]) in connections:
            members.setdefault(str(row["group"]), []).append(str(row["flow"]))
    found = _flow_rows(run, counters, window, members)
    start_s, stop_s = window.start_s, window.within(counters.duration_s).stop_s
    for group, flows in members.items():
        received = [counters.of_flow(f"flow/{flow}", "rx_bytes").between(start_s, stop_s) for flow in flows]
        found[group]["jain"] = metrics.jain(received) if not any(map(math.isnan, received)) else math.nan
    return found


def _ports(run: Run, counters: Counters, window: Window) -> dict[str, Row]:
    start_s, stop_s = window.start_s, window.within(counters.duration_s).stop_s
    queues = queues_in(run, tcp_ends(run, window.within(counters.duration_s)), counters.series)
    found = {}
    for port in names(run, "port"):
        entity = f"port/{port}"
        sent, dropped, marked = (counters.of(entity, name).between(start_s, stop_s) for name in ("sent_packets", "drops", "ce_marks"))
        found[port] = {
            "bottleneck_mbit": counters.of(entity, "sent_bytes").rate(start_s, stop_s) * 8 / 1e6,
            "utilisation": queues.get(port, {}).get("utilisation", math.nan),
            **_delays(counters.values(entity, "sojourn_ms", start_s, stop_s)),
            "loss_rate": _ratio(dropped, sent + dropped),
            "mark_rate": _ratio(marked, sent),
            "drops": dropped,
            "ce_marks": marked,
        }
    return found


def _classes(run: Run, counters: Counters, window: Window) -> dict[str, Row]:
    """Return the rows of classes: by their table for the whole run, by their series for a window."""
    from dumbbell.results.windowed import Counter

    columns = ("arrived_packets", "dropped_packets", "ce_marks")
    start_s, stop_s = window.start_s, window.within(counters.duration_s).stop_s
    series = {} if window.is_whole else run.all_series(*columns)
    found = {}
    for row in run.tins.rows():
        name = str(row["tin"])
        if window.is_whole:
            totals = [math.nan if row.get(column) is None else float(row[column]) for column in columns]
            delays = [row.get(column) for column in ("sojourn_mean_ms", "sojourn_p95_ms", "sojourn_p99_ms")]
        else:
            totals = [Counter(series.get((f"tin/{name}", column))).between(start_s, stop_s) for column in columns]
            delays = [None] * len(_DELAYS)
        arrived, dropped, marked = totals
        found[name] = {
            **dict(zip(columns, totals, strict=True)),
            "loss_rate": _ratio(dropped, arrived),
            "mark_rate": _ratio(marked, arrived),
            **{column: math.nan if value is None else float(value) for column, value in zip(_DELAYS, delays, strict=True)},
        }
    return found


_READERS: Mapping[str, Callable[[Run, Counters, Window], dict[str, Row]]] = {
    "flow": _flows,
    "group": _groups,
    "port": _ports,
    "class": _classes,
}
