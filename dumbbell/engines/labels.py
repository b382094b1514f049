"""The columns of the table of flows that come from the plan, not from an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dumbbell.plan import Plan, Tcp


def flow_labels(plan: Plan) -> Mapping[str, Sequence[str | None]]:
    """By column: of each TCP connection and each stream of datagrams, in that order."""
    flows = [*plan.flows]
    return {
        "flow": [flow.name for _, flow in flows],
        "group": [workload.id for workload, _ in flows],
        "transport": [workload.transport for workload, _ in flows],
        "path": [plan.paths[workload.path].id for workload, _ in flows],
        "cc": [str(workload.cc["kind"]) if isinstance(workload, Tcp) else None for workload, _ in flows],
    }
