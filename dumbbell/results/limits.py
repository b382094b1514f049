"""Limits of the TCP connections of a run, as shares of their lives, and the keys of the scenario that set them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell.results.run import Run

LIMITS: Mapping[str, str] = {
    "cwnd": "the congestion window",
    "rwnd": "the receive window",
    "sndbuf": "the send buffer",
    "app": "the application",
}
"""Limits of a connection: their names in the columns `NAME_limited_ms` of the table of flows, and in words."""

_KEYS: Mapping[str, Mapping[str, str]] = {
    "rwnd": {"reads_bps": "host.reads", "rcvbuf": "host.rcvbuf", "rmem": "host.rmem"},
    "sndbuf": {"sndbuf": "host.sndbuf", "wmem": "host.wmem"},
}
"""Limit -> host setting of the plan -> key of the scenario. The first that is set is behind the limit."""
_MOSTLY = 0.5
"""Share of its life from which on a limit other than the congestion window is pointed out."""


def limited_shares(row: Mapping[str, Any]) -> dict[str, float]:
    """Limit -> share of a connection's life, from its row in the table of flows; NaN where that is not counted, at most 1."""
    lived_ms = (row.get("end_ns", 0) - row.get("start_ns", 0)) / 1e6
    return {name: min(row.get(f"{name}_limited_ms", math.nan) / lived_ms, 1.0) if lived_ms > 0 else math.nan for name in LIMITS}


def limit_notes(run: Run) -> Iterator[str]:
    """A line for each TCP connection that a window or a buffer of a host limited for most of its life, with the key that sets it."""
    workloads = {_id(workload): workload.get("tcp", workload) for workload in (run.plan or {}).get("workloads", ())}
    for row in run.flows.rows():
        shares = limited_shares(row)
        for name, keys in _KEYS.items():
            if shares[name] >= _MOSTLY:
                host = workloads.get(str(row.get("group")), {}).get("host", {})
                cause = next((key for field, key in keys.items() if host.get(field) is not None), "its buffer")
                yield f"flow/{row['flow']}: limited by {LIMITS[name]} for {100 * shares[name]:.0f} % of the time: {cause}"


def _id(workload: Mapping[str, Any]) -> str:
    return str(workload.get("tcp", workload)["id"])
