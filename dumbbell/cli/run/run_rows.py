"""The rows of `dumbbell run --rows`: each flow, each group, and each stream of datagrams of each run."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from dumbbell.cli.output import print_columns
from dumbbell.metrics.throughput import elapsed_throughput_mbit
from dumbbell.results import limited_shares
from dumbbell.results.summary import completion_s
from dumbbell.results.tables import NOT_TCP

if TYPE_CHECKING:
    from dumbbell.results import Run


class RunRows:
    """Tables of runs: a row for each flow, each group, and each stream of datagrams that measures."""

    def __init__(self, coordinates: list[str]) -> None:
        self._coordinates = coordinates
        self._flows: list[tuple[str, ...]] = []
        self._groups: list[tuple[str, ...]] = []
        self._streams: list[tuple[str, ...]] = []
        self._completed = False
        """True if a flow has a size."""

    def add(self, run: Run) -> None:
        """Adds the rows of a run."""
        heads = (run.key[:10], *map(str, run.cell.values()))
        self._completed = self._completed or any(
            workload.get("transfer_bytes") is not None for workload in (run.plan or {}).get("workloads", ()) if workload["kind"] == "tcp"
        )
        for row in run.flows.rows():
            if row.get("transport") not in NOT_TCP:
                row["active_ns"] = row["end_ns"] - row["start_ns"]
                rate = elapsed_throughput_mbit(row["rx_bytes"], row["active_ns"]) if row["active_ns"] else 0.0
                limit = _most(limited_shares(row))
                numbers = f"{rate:.3f}", str(row["retransmits"]), _seconds(completion_s(row)), limit
                self._flows.append((*heads, row["flow"], *numbers, run.status))
        self._groups += [(*heads, row["group"], *_numbers(row, _OF_GROUPS), run.status) for row in run.groups.rows()]
        streams = [run.flows.row(i) for i, lost in enumerate(run.flows.column("lost_packets")) if lost is not None]
        self._streams += [(*heads, row["flow"], *_numbers(row, _OF_STREAMS), run.status) for row in streams]

    def show(self) -> None:
        """Prints them, without columns that have no value."""
        flows = ("run", *self._coordinates, "flow", "Mbit/s", "retransmits", "completed s", "limited by", "status")
        if self._flows:
            dropped = () if self._completed else (flows.index("completed s", len(self._coordinates) + 2),)
            _print_without(dropped, [flows, *self._flows])
        for what, names, rows in (("group", _OF_GROUPS, self._groups), ("stream", _OF_STREAMS, self._streams)):
            if rows:
                first = len(self._coordinates) + 2
                columns = range(first, first + len(names))
                heads = ("run", *self._coordinates, what, *names.values(), "status")
                _print_without([i for i in columns if all(row[i] == "-" for row in rows)], [heads, *rows])


_OF_GROUPS = {
    "connections": "connections",
    "completed": "completed",
    "completion_median_ms": "median ms",
    "completion_p95_ms": "p95 ms",
    "completion_p99_ms": "p99 ms",
    "slowdown_median": "slowdown median",
    "slowdown_p95": "slowdown p95",
    "transactions": "transactions",
    "latency_median_ms": "latency median ms",
    "latency_p95_ms": "latency p95 ms",
    "startup_mean_ms": "start-up ms",
    "stalls": "stalls",
    "stalled_ms": "stalled ms",
    "retransmits": "retransmits",
}
"""Columns of the table of groups that are shown, and their headings."""
_OF_STREAMS = {
    "sent_packets": "sent",
    "lost_packets": "lost",
    "owd_median_ms": "one-way median ms",
    "owd_p99_ms": "p99 ms",
    "rtt_median_ms": "RTT median ms",
    "rtt_p99_ms": "RTT p99 ms",
    "jitter_ms": "jitter ms",
    "late_packets": "late",
    "r_factor": "R",
    "mos": "MOS",
}
"""Headings of the columns of streams of datagrams that measure."""


def _numbers(row: Mapping[str, Any], names: Collection[str]) -> list[str]:
    """Some columns of a row as text."""
    return [f"{row[name]:.3f}" if isinstance(row.get(name), float) else str(row.get(name, "-")) for name in names]


def _print_without(dropped: Collection[int], rows: list[tuple[str, ...]]) -> None:
    """Prints rows without some columns."""
    print_columns([[text for i, text in enumerate(row) if i not in dropped] for row in rows] if dropped else rows)


def _seconds(time_s: float) -> str:
    return "-" if math.isnan(time_s) else f"{time_s:.3f}"


def _most(shares: Mapping[str, float]) -> str:
    """Return the largest limit of a flow: `cwnd 97 %`."""
    known = {name: share for name, share in shares.items() if not math.isnan(share)}
    most = max(known, key=lambda name: known[name], default=None)
    return "-" if most is None else f"{most} {100 * known[most]:.0f} %"
