"""The names in the table of flows, which a plan has and an engine's numbers lack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dumbbell.plan import Plan
from dumbbell.plan.model import Connection, Tcp, Workload


def flow_labels(plan: Plan) -> Mapping[str, Sequence[str | None]]:
    """By column: of each TCP connection and each stream of datagrams, in that order."""
    flows: list[tuple[Workload, Connection]] = [*plan.connections]
    streams: list[tuple[Workload, Connection]] = [*plan.streams]
    both = [*flows, *streams]
    return {
        "flow": [flow.name for _, flow in both],
        "group": [workload.id for workload, _ in both],
        "transport": ["tcp"] * len(flows) + ["udp"] * len(streams),
        "path": [plan.paths[workload.path].id for workload, _ in both],
        "cc": [str(workload.cc["kind"]) if isinstance(workload, Tcp) else None for workload, _ in both],
    }
