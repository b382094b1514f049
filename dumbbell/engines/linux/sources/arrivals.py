"""Connections that come and go, as the simulator's own routine draws them: both engines make the same ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.native import native
from dumbbell.plan import Link, Plan, Queue, Traffic
from dumbbell.scenario import Host
from dumbbell.scenario.tcp import Stack

KIND = "transfers"
"""The workloads that make them."""
ARRIVAL_BYTES = 32
"""Bytes of a connection in the list: time (ns), payload (bytes), class, and ports (the source port in the upper half), 64 bits each."""


def coming(plan: Plan) -> Iterator[tuple[int, Traffic]]:
    """The workloads that make connections while the run goes on, with their positions in the plan."""
    for i, workload in enumerate(plan.workloads):
        if isinstance(workload, Traffic) and workload.kind == KIND:
            yield i, workload


def arrivals(plan: Plan, workload: Traffic) -> bytes:
    """The connections that a workload makes, `ARRIVAL_BYTES` each, little-endian."""
    listed: bytes = native().arrivals(_drawable(plan, workload), 0)
    return listed


def group_rows(plan: Plan, workload: Traffic, came: bytes) -> Mapping[str, Any]:
    """Return the rows of the table of groups for these connections.

    Args:
        plan: Of the run.
        workload: That made them.
        came: For each connection, in 64 bits and the machine's order: how long it took
            (ns; the largest number: it is not complete), payload read (bytes), packets sent, segments retransmitted.
    """
    rows: Mapping[str, Any] = native().group_rows(_drawable(plan, workload), 0, came)
    return rows


def _drawable(plan: Plan, workload: Traffic) -> str:
    """Return the plan with only the parts that the connections depend on: the simulator need not know the rest of the engine's plan."""
    described = workload.plain()
    sizes = {key: list(map(int, Host.model_fields[key].default)) for key in ("rmem", "wmem")}
    settings = {key: value for key, value in described["tcp"]["host"].items() if key not in ("gso", "sysctls")} | sizes
    stack = {"name": Stack().base, "options": {}}
    described = {**described, "tcp": {**described["tcp"], "host": settings, "stack": stack}}
    lines = {
        "ports": [_line(port) for port in plan.ports],
        "workloads": [described],
        "schedule": [],
        "series": None,
    }
    return json.dumps({**plan.plain(), **lines})


def _line(port: Link | Queue) -> dict[str, Any]:
    """A port as a line with its delay."""
    own = {"id": port.id, "name": port.name, "direction": port.direction}
    return {"kind": "link", **own, "delay_ns": port.delay_ns, "rate_bps": port.rate_bps, "limit_packets": None}
