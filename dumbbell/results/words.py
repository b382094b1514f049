"""Words for readers: the names of keys of scenarios and of columns in figures and pages. They stand here until the catalogue of
parameters has these words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dumbbell.results.columns import bare, unit_of

KEYS: Mapping[str, str] = {
    "rtt": "base RTT",
    "rate": "bottleneck rate",
    "reverse.rate": "reverse rate",
    "qdisc": "queue discipline",
    "qdisc.kind": "queue discipline",
    "reverse.qdisc": "reverse queue discipline",
    "reverse.qdisc.kind": "reverse queue discipline",
    "qdisc.limit": "queue limit",
    "reverse.qdisc.limit": "reverse queue limit",
    "qdisc.target": "queue's target delay",
    "qdisc.interval": "queue's interval",
    "qdisc.flows": "flow queues",
    "qdisc.quantum": "queue's quantum",
    "qdisc.ce_threshold": "marking threshold",
    "qdisc.ecn": "ECN at the queue",
    "shaper": "shaper",
    "loss": "loss rate",
    "delay.loss": "loss rate",
    "delay.jitter": "jitter",
    "delay.reorder": "reordered share",
    "mtu": "MTU",
    "cc": "congestion control",
    "count": "number of flows",
    "bytes": "transfer size",
    "stack": "TCP stack",
    "ecn": "ECN",
    "mss": "segment size",
    "start": "start",
    "duration": "duration",
    "load": "offered load",
    "size": "size",
    "group": "group",
    "direction": "direction",
    "flow": "flow",
    "stream": "stream",
    "port": "queue",
    "folder": "folder",
    "engine": "engine",
    "name": "scenario",
    "seed": "seed",
}
"""The last words of a key -> what it is called. The longest end that is here counts."""
_COLUMNS: Mapping[str, str] = {
    "flow_goodput": "goodput of a flow",
    "flow_delivery_rate": "delivery rate of a flow",
    "jain_index": "Jain's index",
    "jain_by_step": "Jain's index by step",
    "ce_marks": "CE marks",
    "sce_marks": "SCE marks",
    "retransmits": "retransmissions",
    "flows": "flows",
    "cwnd": "congestion window",
    "cwnd_mean_packets": "mean congestion window",
    "ssthresh": "slow-start threshold",
    "srtt": "smoothed RTT",
    "rtt": "RTT",
    "min_rtt": "minimum RTT",
    "passive_rtt": "RTT by packet pairs",
    "inflight": "in flight",
    "delivered": "delivered",
    "delivered_ce": "delivered with a mark",
    "rx_bytes": "received",
    "latency": "latency of requests",
    "buffer": "playing time in the buffer",
    "backlog_bytes": "queue length",
    "backlog_packets": "queue length",
    "sojourn": "time in the queue",
    "owd": "one-way delay",
    "owd_back": "one-way delay back",
    "jitter": "jitter",
    "jitter_back": "jitter back",
    "completion": "completion time",
    "slowdown": "slowdown",
    "startup": "startup time",
    "stalled": "stalled time",
    "mos": "mean opinion score",
    "r_factor": "R factor",
    "lost_share": "share lost",
    "lost": "lost",
    "reported": "goodput by the program",
    "rwnd_limited": "limited by the receive window",
    "sndbuf_limited": "limited by the send buffer",
    "app_limited": "limited by the application",
}
"""Column or series -> its name for readers. A name has no unit where the column's own name tells it."""
_OF_STATISTICS: Mapping[str, str] = {
    "mean": "mean {}",
    "median": "median {}",
    "p95": "95th percentile of {}",
    "p99": "99th percentile of {}",
    "max": "maximum {}",
}


def key_words(key: str, keys: Iterable[str] = ()) -> str:
    """Return what a key is called; the key itself if it has no words, or if another of `keys` is called alike."""
    found = _words(key)
    if found is None or any(other != key and _words(other) == found for other in keys):
        return key
    return found


def _words(key: str) -> str | None:
    parts = key.split(".")
    ends = (".".join(parts[first:]) for first in range(len(parts)))
    return next((KEYS[end] for end in ends if end in KEYS), None)


def column_words(column: str) -> str:
    """Return what a column or series is called, with its unit: `mean smoothed RTT (ms)`."""
    unit = unit_of(column)
    return f"{column_name(column)} ({unit})" if unit else column_name(column)


def column_name(column: str) -> str:
    """Return what a column or series is called, without its unit."""
    name = bare(column)
    for whole in (column, name):
        if whole in _COLUMNS:
            return _COLUMNS[whole]
    stem, _, statistic = name.rpartition("_")
    if statistic in _OF_STATISTICS:
        return _OF_STATISTICS[statistic].format(_COLUMNS.get(stem, stem.replace("_", " ")))
    return name.replace("_", " ")
