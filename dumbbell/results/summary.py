"""The standard metrics of a run, of each flow and of all flows together, over a fixed time window.

The store computes them once and caches them in its index. For any other window, metrics are computed from the series.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, get_args

import numpy as np

from dumbbell import metrics
from dumbbell.results.conservation import Status
from dumbbell.results.imported import is_imported
from dumbbell.results.limits import limited_shares
from dumbbell.results.names import are_names, is_name
from dumbbell.results.responsiveness import measured_rpm
from dumbbell.results.tables import NOT_TCP, entity_of
from dumbbell.results.windowed import Counters, Window, halves, measured_window, rows_within

if TYPE_CHECKING:
    from dumbbell.results.run import Run

REPORTED_METRICS = ("reported_mbit", "reported_retransmits")
"""Metrics of a flow that a program made, by the program's own account; no other flow has them."""
GOODPUT, FLOW_GOODPUT = "goodput_mbit", "flow_goodput_mbit"
"""Payload of a run or a group over the window of the run; payload of one flow over the flow's own time. Only the first adds up."""
FLOW_METRICS = (
    FLOW_GOODPUT,
    "srtt_mean_ms",
    "srtt_p95_ms",
    "cwnd_mean_packets",
    "retransmits",
    "completion_s",
    "rwnd_limited",
    "sndbuf_limited",
    "app_limited",
    *REPORTED_METRICS,
)
"""Metrics of a flow over its own time, from its start until it stops or its transfer is complete: payload over elapsed time; mean and 95th
percentile of the samples of smoothed RTT; mean of the samples of cwnd; retransmitted segments; duration of a sized transfer, including the
handshake; shares of the time in which the receive window, the send buffer and the application limited it (the congestion window did in the
rest)."""

RUN_METRICS = ("flows", GOODPUT, "jain_index", "srtt_mean_ms", "srtt_p95_ms", "retransmits", "drops", "ce_marks", "responsiveness_rpm")
"""Metrics of all TCP connections of a run together, those that come and go included: their number; their payload over the window of the
run; Jain's index of the goodputs of bulk flows, each over the flow's own lifetime; mean and 95th percentile of all samples of smoothed RTT,
if every bulk flow has series; retransmitted segments; packets dropped and CE marks set, summed over all ports; round trips per minute, if
the run has the traffic for it."""

GROUP_METRICS = (
    GOODPUT,
    "connections",
    "completed",
    "completion_mean_ms",
    "completion_median_ms",
    "completion_p95_ms",
    "completion_p99_ms",
    "completion_max_ms",
    "slowdown_mean",
    "slowdown_median",
    "slowdown_p95",
    "slowdown_p99",
    "transactions",
    "latency_mean_ms",
    "latency_median_ms",
    "latency_p95_ms",
    "startup_mean_ms",
    "stalls",
    "stalled_ms",
    "retransmits",
)
"""Metrics of a group: the payload of its connections over the window of the run, and the columns of the table of groups. A group of bulk
flows is not in that table and has its goodput alone."""

DATAGRAM_METRICS = (
    "sent_packets",
    "lost_share",
    "owd_mean_ms",
    "owd_median_ms",
    "owd_p95_ms",
    "owd_p99_ms",
    "rtt_mean_ms",
    "rtt_median_ms",
    "rtt_p95_ms",
    "rtt_p99_ms",
    "jitter_ms",
    "reordered_packets",
    "late_packets",
    "r_factor",
    "mos",
)
"""Metrics of a stream of datagrams that measures, as the table of flows has them."""

PORT_METRICS = ("utilisation", "queue_delay_mean_ms", "queue_delay_p95_ms")
"""Metrics of a port with a queue over the window of the run: bytes that it handed on over the bytes that its rate allows (NaN if the rate
changes); mean and 95th percentile of the samples of how long a packet was queued (NaN if the engine has no such samples)."""

_METRIC = frozenset((float, type(None)))
"""The types that a metric has as JSON."""
_SRTT, _CWND = "srtt_ms", "cwnd"
_SOJOURN, _SENT, _SENT_PACKETS = "sojourn_ms", "sent_bytes", "sent_packets"
_MEASURED = ("lost_packets", "rtt_mean_ms", "jitter_ms")
"""A stream of datagrams that measures has one of these columns; those from here have all."""


class Traits(NamedTuple):
    """Traits of a flow, a group or a stream; empty where they are not known."""

    group: str
    """Name of its entry in the scenario."""
    cc: str
    direction: str
    """forward or reverse."""


@dataclass(frozen=True)
class Summary:
    """The standard metrics of a run (NaN where undefined), and its status."""

    status: Status
    flows: Mapping[str, Mapping[str, float]]
    """TCP connection -> FLOW_METRICS."""
    run: Mapping[str, float]
    """RUN_METRICS of the run."""
    groups: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Group -> GROUP_METRICS."""
    datagrams: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Stream that measures -> DATAGRAM_METRICS."""
    traits: Mapping[str, Mapping[str, Traits]] = field(default_factory=dict)
    """`flows`, `groups`, `datagrams` or `ports` -> name -> its traits."""
    engine: str = ""
    """Name of the engine."""
    ports: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Port with a queue and a rate -> PORT_METRICS."""
    halves: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Group of bulk flows -> its goodput (Mbit/s) in both halves of the window; see `dumbbell.results.windowed.halves`."""

    def plain(self) -> dict[str, object]:
        """Return data for JSON: lists of metrics in their order, null for NaN."""
        several = {"flows": self.flows, "groups": self.groups, "datagrams": self.datagrams, "ports": self.ports}
        listed = {kind: {name: _listed(values) for name, values in each.items()} for kind, each in several.items()}
        return {
            "status": self.status,
            **listed,
            "run": _listed(self.run),
            "traits": self.traits,
            "engine": self.engine,
            "halves": self.halves,
        }

    @classmethod
    def from_plain(cls, found: object) -> Summary | None:
        """The inverse of `plain`; None for any other data."""
        if not isinstance(found, dict) or found.get("status") not in get_args(Status):
            return None
        flows, groups = _all_named(FLOW_METRICS, found.get("flows")), _all_named(GROUP_METRICS, found.get("groups"))
        datagrams, run = _all_named(DATAGRAM_METRICS, found.get("datagrams")), _named(RUN_METRICS, found.get("run"))
        traits, engine, parts = _traits(found.get("traits")), found.get("engine"), _halves(found.get("halves"))
        ports = _all_named(PORT_METRICS, found.get("ports"))
        if run is None or flows is None or groups is None or datagrams is None or ports is None or traits is None or parts is None:
            return None
        return cls(found["status"], flows, run, groups, datagrams, traits, engine, ports, parts) if is_name(engine) else None


class Summarised(Protocol):
    """Anything that has a summary: a run, or an outline of one."""

    @property
    def name(self) -> str:
        """Name of the scenario."""

    @property
    def cell(self) -> Mapping[str, str | int | float]:
        """Coordinates in the sweep."""

    @property
    def summary(self) -> Summary:
        """The standard metrics."""


@dataclass(frozen=True)
class Outline:
    """Identity of a stored run, and its summary: all that tables, and figures of many runs, need."""

    cell: Mapping[str, str | int | float]
    summary: Summary
    name: str = ""
    """Name of the scenario."""
    key: str = ""


def summarise(run: Run) -> Summary:
    """Computes the metrics of a run over the window that its scenario says, or the whole run. It reads the series only once. If the sum of
    the samples overflows, the mean is infinite or NaN."""
    window = measured_window(run)
    return _whole(run) if window.is_whole else summarise_window(run, window)


@np.errstate(over="ignore", invalid="ignore")
def summarise_window(run: Run, window: Window) -> Summary:
    """Computes the metrics of a run over a window, see `dumbbell.results.windowed`. A metric that no series tells is NaN."""
    counters = Counters(run)
    window = window.within(counters.duration_s)
    rows = {str(row["flow"]): row for row in run.flows.rows()}
    lives = {entity: counters.life_s(entity) for entity in run.counters if entity.startswith("flow/")}
    there = {entity: (max(start, window.start_s), min(end, window.stop_s)) for entity, (start, end) in lives.items()}
    there = {entity: (start, stop) for entity, (start, stop) in there.items() if stop > start}
    found = {
        entity.removeprefix("flow/"): _flow_in_window(counters, entity, rows[entity.removeprefix("flow/")], window, ends)
        for entity, ends in there.items()
    }
    bulk = _bulk(run)
    rates = [values[FLOW_GOODPUT] for name, values in found.items() if name in bulk]
    connections = [row for row in rows.values() if row.get("transport") not in NOT_TCP]
    start_s, stop_s = _tcp_within(run, connections, window)
    totals = _totals_in_window(counters, connections, start_s, stop_s)
    srtt = [counters.values(entity, _SRTT, *ends) for entity, ends in there.items() if _has_every_flow(run)]
    pooled = np.concatenate([np.empty(0), *srtt])
    ports = [entity for entity in run.counters if entity.startswith("port/")]
    over_ports = {
        name: math.fsum(counters.of(entity, name).between(window.start_s, window.stop_s) for entity in ports)
        for name in ("drops", "ce_marks")
    }
    coming = {name for name in totals if name in set(run.groups.names)}
    together = {
        **dict.fromkeys(RUN_METRICS, math.nan),
        "flows": math.nan if coming - {str(row.get("group")) for row in connections} else float(len(found)),
        GOODPUT: _rate_mbit(math.fsum(rx_bytes for rx_bytes, _ in totals.values()), stop_s - start_s),
        "jain_index": metrics.jain(rates) if rates and not any(map(math.isnan, rates)) else math.nan,
        "srtt_mean_ms": _mean(pooled),
        "srtt_p95_ms": _p95(pooled),
        "retransmits": math.fsum(again for _, again in totals.values()),
        "drops": over_ports["drops"] if ports else math.nan,
        "ce_marks": over_ports["ce_marks"] if ports else math.nan,
    }
    members: dict[str, list[Mapping[str, Any]]] = {}
    for row in connections:
        members.setdefault(str(row.get("group", row["flow"])), []).append(row)
    groups = {
        name: _group_in_window(counters, name, members.get(name, ()), window) | {GOODPUT: _rate_mbit(rx_bytes, stop_s - start_s)}
        for name, (rx_bytes, _) in totals.items()
    }
    columns = zip(*map(run.flows.column, _MEASURED), strict=True)
    measured = [run.flows.row(i) for i, values in enumerate(columns) if any(value is not None for value in values)]
    datagrams = {str(row["flow"]): _stream_in_window(counters, row, window) for row in measured}
    parts = halves(counters, _bulk_groups(run), window)
    queues = queues_in(run, tcp_ends(run, window), counters.series)
    return Summary(run.status, found, together, groups, datagrams, traits_of(run), str(run.engine.get("name", "")), queues, parts)


def tcp_ends(run: Run, window: Window) -> tuple[float, float]:
    """Return the part of a window in which the run has TCP, s; the whole window for a run without TCP."""
    connections = [row for row in run.flows.rows() if row.get("transport") not in NOT_TCP]
    return _tcp_within(run, connections, window) if _window_ns(run, connections)[1] else (window.start_s, window.stop_s)


def _tcp_within(run: Run, connections: Sequence[Mapping[str, Any]], window: Window) -> tuple[float, float]:
    start_ns, end_ns = _window_ns(run, connections)
    return max(start_ns / metrics.NS_PER_S, window.start_s), min(end_ns / metrics.NS_PER_S, window.stop_s)


def _bulk_groups(run: Run) -> dict[str, list[str]]:
    """Group of bulk flows -> their entities."""
    found: dict[str, list[str]] = {}
    bulk = _bulk(run)
    for name, group, transport in zip(run.flows.names, run.flows.column("group"), run.flows.column("transport"), strict=True):
        if name in bulk and transport not in NOT_TCP:
            found.setdefault(str(group or name), []).append(f"flow/{name}")
    return found


def _flow_in_window(counters: Counters, entity: str, row: Mapping[str, Any], window: Window, ends: tuple[float, float]) -> dict[str, float]:
    srtt = counters.values(entity, _SRTT, *ends)
    completed = rows_within([row], window)
    known = {
        FLOW_GOODPUT: counters.of_flow(entity, "rx_bytes").rate(*ends) * 8 / 1e6,
        "srtt_mean_ms": _mean(srtt),
        "srtt_p95_ms": _p95(srtt),
        "cwnd_mean_packets": _mean(counters.values(entity, _CWND, *ends)),
        "retransmits": counters.of_flow(entity, "retransmits").between(*ends),
        "completion_s": (row["completed_ns"] - row["start_ns"]) / metrics.NS_PER_S if completed else math.nan,
    }
    return {**dict.fromkeys(FLOW_METRICS, math.nan), **known}


def _totals_in_window(
    counters: Counters, connections: Iterable[Mapping[str, Any]], start_s: float, stop_s: float
) -> dict[str, tuple[float, float]]:
    """Group -> bytes that were read and segments retransmitted in a window; NaN of connections that come and go without series of their
    group."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in connections:
        entity = f"flow/{row['flow']}"
        amounts = (counters.of_flow(entity, name).between(start_s, stop_s) for name in ("rx_bytes", "retransmits"))
        found.setdefault(str(row.get("group", row["flow"])), []).append(tuple(amounts))  # type: ignore[arg-type]
    totals = {group: (math.fsum(each[0] for each in listed), math.fsum(each[1] for each in listed)) for group, listed in found.items()}
    for row in counters.run.groups.rows():
        if "sizes" not in row:
            entity = f"group/{row['group']}"
            of_group = tuple(counters.of(entity, name).between(start_s, stop_s) for name in ("rx_bytes", "retransmits"))
            if not math.isnan(of_group[0]) or str(row["group"]) not in totals:
                totals[str(row["group"])] = (of_group[0], of_group[1])
    return totals


def _group_in_window(counters: Counters, name: str, rows: Sequence[Mapping[str, Any]], window: Window) -> dict[str, float]:
    """The columns of a group that its series and the rows of its connections tell."""
    ends = window.start_s, window.stop_s
    entities = [f"group/{name}", *(f"flow/{row['flow']}" for row in rows)]
    # The pages of a group are its own, else its connections have the transactions.
    listed = [counters.values(entity, "latency_ms", *ends) for entity in entities]
    waits = listed[0] if listed[0].size else np.concatenate([np.empty(0), *listed[1:]])
    known: dict[str, float] = {}
    if waits.size:
        known = {
            "transactions": float(waits.size),
            "latency_mean_ms": _mean(waits),
            "latency_median_ms": float(np.median(waits)),
            "latency_p95_ms": _p95(waits),
        }
    if name in set(counters.run.groups.names) and rows:
        done = rows_within(rows, window)
        times = np.array([(row["completed_ns"] - row["start_ns"]) / 1e6 for row in done])
        known["completed"] = float(len(done))
        known["connections"] = float(sum(ends[0] <= row["start_ns"] / metrics.NS_PER_S <= ends[1] for row in rows))
        if times.size:
            known |= {
                "completion_mean_ms": _mean(times),
                "completion_median_ms": float(np.median(times)),
                "completion_p95_ms": _p95(times),
                "completion_p99_ms": float(np.percentile(times, 99)),
                "completion_max_ms": float(np.max(times)),
            }
    return {**dict.fromkeys(GROUP_METRICS, math.nan), **known}


def _stream_in_window(counters: Counters, row: Mapping[str, Any], window: Window) -> dict[str, float]:
    """The columns of a stream of datagrams that its series tell."""
    entity, ends = entity_of(row), (window.start_s, window.stop_s)
    known: dict[str, float] = {}
    for name in ("owd", "rtt"):
        values = counters.values(entity, f"{name}_ms", *ends)
        if values.size:
            known |= {f"{name}_mean_ms": _mean(values), f"{name}_median_ms": float(np.median(values))}
            known |= {f"{name}_p95_ms": _p95(values), f"{name}_p99_ms": float(np.percentile(values, 99))}
    arrived = counters.values(entity, "rtt_ms", *ends).size or counters.values(entity, "owd_ms", *ends).size
    lost = counters.of(entity, "lost").between(*ends)
    if arrived + lost > 0:
        known["lost_share"] = lost / (arrived + lost)
    known["jitter_ms"] = _mean(counters.values(entity, "jitter_ms", *ends))
    return {**dict.fromkeys(DATAGRAM_METRICS, math.nan), **known}


def _rate_mbit(payload_bytes: float, elapsed_s: float) -> float:
    return payload_bytes * 8 / elapsed_s / 1e6 if elapsed_s > 0 else math.nan


@np.errstate(over="ignore", invalid="ignore")
def _whole(run: Run) -> Summary:
    """Computes the metrics of a whole run."""
    flows = {entity: counters for entity, counters in run.counters.items() if entity.startswith("flow/")}
    rows = {str(row["flow"]): row for row in run.flows.rows()}
    limits = {flow: limited_shares(row) for flow, row in rows.items()}
    over_time = Counters(run)
    series = over_time.series
    lives_ns = {entity: _life_ns(counters) for entity, counters in flows.items()}
    samples = {
        # The same division as converts the samples' times to seconds, so that a sample exactly at the end is included.
        (entity, name): metrics.in_window(series[entity, name], start / metrics.NS_PER_S, end / metrics.NS_PER_S)[1]
        for entity, (start, end) in lives_ns.items()
        for name in (_SRTT, _CWND)
        if (entity, name) in series
    }
    nothing = np.empty(0)
    found = {
        entity.removeprefix("flow/"): {
            FLOW_GOODPUT: _goodput_mbit(counters.get("rx_bytes", math.nan), counters["active_ns"]),
            "srtt_mean_ms": _mean(samples.get((entity, _SRTT), nothing)),
            "srtt_p95_ms": _p95(samples.get((entity, _SRTT), nothing)),
            "cwnd_mean_packets": _mean(samples.get((entity, _CWND), nothing)),
            "retransmits": float(counters.get("retransmits", math.nan)),
            "completion_s": completion_s(counters),
            **{f"{name}_limited": limits[entity.removeprefix("flow/")][name] for name in ("rwnd", "sndbuf", "app")},
            **_reported(rows[entity.removeprefix("flow/")]),
        }
        for entity, counters in flows.items()
    }
    bulk = _bulk(run)
    rates = [values[FLOW_GOODPUT] for name, values in found.items() if name in bulk]
    connections = [row for row in rows.values() if row.get("transport") not in NOT_TCP]
    volumes, (start_ns, end_ns) = _volumes(run, connections), _window_ns(run, connections)
    pooled = [samples[entity, _SRTT] for entity in flows if (entity, _SRTT) in samples and _has_every_flow(run)]
    srtt = np.concatenate([nothing, *pooled])
    ports = [counters for entity, counters in run.counters.items() if entity.startswith("port/")]
    together = {
        "flows": math.fsum(each.connections for each in volumes.values()),
        GOODPUT: _goodput_mbit(math.fsum(each.rx_bytes for each in volumes.values()), end_ns - start_ns),
        "jain_index": metrics.jain(rates) if rates and not any(map(math.isnan, rates)) else math.nan,
        "srtt_mean_ms": _mean(srtt),
        "srtt_p95_ms": _p95(srtt),
        "retransmits": math.fsum(each.retransmits for each in volumes.values()),
        "drops": float(sum(value for counters in ports for name, value in counters.items() if name.startswith("dropped_"))),
        "ce_marks": float(sum(counters.get("ce_marks", 0) for counters in ports)),
        "responsiveness_rpm": measured_rpm(run),
    }
    if is_imported(run):  # few files of other tools tell of queues, and some not of flows
        dropped = any(name.startswith("dropped_") for counters in ports for name in counters)
        unknown = (*(() if dropped else ("drops",)), "ce_marks", *(() if flows else (GOODPUT, "retransmits")))
        together |= dict.fromkeys(unknown, math.nan)
    listed = {str(row["group"]): row for row in run.groups.rows()}
    groups = {
        name: {
            **{metric: float(listed.get(name, {}).get(metric, math.nan)) for metric in GROUP_METRICS},
            GOODPUT: _goodput_mbit(listed[name]["rx_bytes"] if name in listed else volumes[name].rx_bytes, end_ns - start_ns),
        }
        for name in dict.fromkeys((*volumes, *listed))
    }
    columns = zip(*map(run.flows.column, _MEASURED), strict=True)
    measured = [run.flows.row(i) for i, values in enumerate(columns) if any(value is not None for value in values)]
    datagrams = {str(row["flow"]): {name: float(row.get(name, math.nan)) for name in DATAGRAM_METRICS} for row in measured}
    whole_ns = (start_ns, end_ns) if end_ns else (0, (run.plan or {}).get("duration_ns", 0))  # without TCP
    queues = queues_in(run, (whole_ns[0] / metrics.NS_PER_S, whole_ns[1] / metrics.NS_PER_S), series)
    engine = str(run.engine.get("name", ""))
    groups_of_flows = _bulk_groups(run)
    parts = halves(over_time, groups_of_flows, Window()) if groups_of_flows else {}
    return Summary(run.status, found, together, groups, datagrams, traits_of(run), engine, queues, parts)


def queues_in(run: Run, ends_s: tuple[float, float], series: Mapping[tuple[str, str], metrics.Series]) -> dict[str, dict[str, float]]:
    """Return the metrics of the ports with a queue over a window, whose ends are given in s."""
    from dumbbell.results.capacity import uncounted_bytes

    plan, (start_s, end_s) = run.plan or {}, ends_s
    changed = {change.get("port") for change in plan.get("schedule", ())}
    found = {}
    for index, port in enumerate(plan.get("ports", ())):
        sent, waited = (series.get((f"port/{port['id']}", name)) for name in (_SENT, _SOJOURN))
        if port.get("kind") != "queue" or (sent is None and waited is None):
            continue
        delays = np.empty(0) if waited is None else metrics.in_window(waited, start_s, end_s)[1]
        rate_bps: int | None = port["shaper"].get("rate_bps", port["qdisc"].get("rate_bps")) if port["shaper"]["kind"] != "trace" else None
        known = rate_bps is not None and sent is not None and index not in changed
        packets = series.get((f"port/{port['id']}", _SENT_PACKETS))
        if sent is not None and packets is not None and (uncounted := uncounted_bytes(port)):
            sent = sent[0], sent[1] - uncounted * packets[1]
        share = _utilisation(sent, rate_bps, start_s, end_s) if known else math.nan  # type: ignore[arg-type]
        found[str(port["id"])] = dict(zip(PORT_METRICS, (share, _mean(delays), _p95(delays)), strict=True))
    return found


def _utilisation(sent: metrics.Series, rate_bps: int, start_s: float, end_s: float) -> float:
    """Share of a rate that was used: bytes handed on, on the wire, from the last sample before the window to the last sample in it. NaN if
    there are no two samples."""
    times, counts = sent
    if len(times) < 2:
        return math.nan
    first, last = max(int(np.searchsorted(times, start_s, "right")) - 1, 0), int(np.searchsorted(times, end_s, "right")) - 1
    if last <= first:
        return math.nan
    return float(counts[last] - counts[first]) * 8 / (rate_bps * float(times[last] - times[first]))


def traits_of(run: Run) -> dict[str, dict[str, Traits]]:
    """Return the traits of the flows, groups and streams of a run, as in `Summary.traits`."""
    placed = [workload.get("tcp", workload) for workload in (run.plan or {}).get("workloads", ())]
    directions = {str(place.get("id")): str(place.get("direction", "")) for place in placed}
    if is_imported(run):
        directions = {str(each["flow"]): str(each["direction"]) for each in run.scenario["flows"]}

    def text(row: Mapping[str, object], column: str) -> str:
        return str(row.get(column) or "")

    rows = run.flows.rows()
    flows = {text(row, "flow"): Traits(text(row, "group"), text(row, "cc"), directions.get(text(row, "group"), "")) for row in rows}
    groups = {text(row, "group"): Traits(text(row, "group"), text(row, "cc"), text(row, "direction")) for row in run.groups.rows()}
    measured = {text(row, "flow") for row in rows if any(name in row for name in _MEASURED)}
    connections = set(run.flows.connections)
    return {
        "flows": {name: each for name, each in flows.items() if name in connections},
        "groups": groups,
        "datagrams": {name: each for name, each in flows.items() if name in measured},
        "ports": {
            str(port["id"]): Traits("", "", str(port.get("direction", "")))
            for port in (run.plan or {}).get("ports", ())
            if port.get("kind") == "queue"
        },
    }


def _reported(row: Mapping[str, float]) -> dict[str, float]:
    """Return the report of the program that made a flow."""
    bps, again = (row.get(name, math.nan) for name in ("reported_bps", "reported_retransmits"))
    # Always the same NaN, so that equal values compare as equal.
    values = (math.nan if math.isnan(bps) else bps / 1e6, math.nan if math.isnan(again) else float(again))
    return dict(zip(REPORTED_METRICS, values, strict=True))


def _has_every_flow(run: Run) -> bool:
    """True if every TCP connection has series. In old plans, which had no such choice, all do."""
    plan = run.plan or {}
    tcp = {i for i, workload in enumerate(plan.get("workloads", ())) if workload["kind"] == "tcp"}
    return "series" not in plan or tcp <= set(plan["series"]["flows"])


def completion_s(counters: Mapping[str, int]) -> float:
    """Time from the start of a flow until the receiver has read the last byte of its transfer, s; NaN if it never did."""
    return counters["active_ns"] / metrics.NS_PER_S if "completed_ns" in counters else math.nan


class _Volume(NamedTuple):
    """Totals of the TCP connections of a group; NaN where unknown."""

    connections: float
    rx_bytes: float
    retransmits: float


def _volumes(run: Run, connections: Iterable[Mapping[str, Any]]) -> dict[str, _Volume]:
    """Group -> its volume. The table of groups has connections without a row of their own; its rows for some sizes only are left out."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in connections:
        rows.setdefault(str(row.get("group", row["flow"])), []).append(row)
    found = {
        group: _Volume(len(members), *(math.fsum(row.get(name, math.nan) for row in members) for name in ("rx_bytes", "retransmits")))
        for group, members in rows.items()
    }
    whole = {str(row["group"]): row for row in run.groups.rows() if "sizes" not in row}
    return found | {group: _Volume(*(float(row.get(name, math.nan)) for name in _Volume._fields)) for group, row in whole.items()}


def _window_ns(run: Run, connections: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Return the window of a run's goodput: from the first start of a TCP connection until the last connection is complete. If one never
    is, or that is not known, the window ends with the run. Data that are still on their way when a flow is stopped arrive within the
    window."""
    plan = run.plan or {}
    come_and_go = [workload["start_ns"] for workload in plan.get("workloads", ()) if "tcp" in workload and "start_ns" in workload]
    if not connections and not come_and_go:
        return 0, 0
    ends = [row["end_ns"] for row in connections]
    if come_and_go or any("completed_ns" not in row for row in connections):
        ends.append(plan.get("duration_ns", 0))
    return min([row["start_ns"] for row in connections] + come_and_go), max(ends)


def _life_ns(counters: Mapping[str, int]) -> tuple[int, int]:
    """Start and end of a flow, ns."""
    start_ns = counters.get("start_ns", 0)
    return start_ns, start_ns + counters["active_ns"]


def _goodput_mbit(payload_bytes: float, elapsed_ns: int) -> float:
    return math.nan if math.isnan(payload_bytes) or not elapsed_ns else metrics.elapsed_throughput_mbit(int(payload_bytes), elapsed_ns)


def _mean(values: metrics.Array) -> float:
    return float(np.mean(values)) if values.size else math.nan


def _p95(values: metrics.Array) -> float:
    return float(np.percentile(values, 95)) if values.size else math.nan


def _listed(values: Mapping[str, float]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.values()]


def _bulk(run: Run) -> Collection[str]:
    """The names of the bulk flows: of other traffic over TCP the application decides how much it sends."""
    others = {workload["tcp"]["id"] for workload in (run.plan or {}).get("workloads", ()) if "tcp" in workload}
    return {name for name, group in zip(run.flows.names, run.flows.column("group"), strict=True) if group not in others}


def _traits(found: object) -> dict[str, dict[str, Traits]] | None:
    """Traits from plain data; None for other data."""
    if not isinstance(found, dict) or set(found) != {"flows", "groups", "datagrams", "ports"}:
        return None
    if not all(isinstance(named, dict) for named in found.values()):
        return None
    listed = [each for named in found.values() for each in named.values()]
    if not all(isinstance(each, list) and len(each) == len(Traits._fields) for each in listed) or not are_names(
        chain.from_iterable(listed)
    ):
        return None
    return {kind: {name: Traits(*each) for name, each in named.items()} for kind, named in found.items()}


def _halves(found: object) -> dict[str, tuple[float, float]] | None:
    """Goodputs of halves from plain data; None for other data."""
    if not isinstance(found, dict) or not are_names(found):
        return None
    if not all(isinstance(each, list) and len(each) == 2 and all(type(number) is float for number in each) for each in found.values()):
        return None
    return {name: (each[0], each[1]) for name, each in found.items()}


def _all_named(names: tuple[str, ...], found: object) -> dict[str, dict[str, float]] | None:
    """Metrics of several flows or groups; None for other data."""
    if not isinstance(found, dict) or not are_names(found):
        return None
    named = {name: _named(names, values) for name, values in found.items()}
    complete = {name: values for name, values in named.items() if values is not None}
    return complete if len(complete) == len(named) else None


def _named(names: tuple[str, ...], values: object) -> dict[str, float] | None:
    """Name -> metric, from a list of metrics; None if it is not a list of that many numbers."""
    if not isinstance(values, list) or len(values) != len(names) or not _METRIC.issuperset(map(type, values)):
        return None
    return dict(zip(names, [math.nan if value is None else value for value in values], strict=True))
