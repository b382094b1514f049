"""The columns of the table of flows that come from the plan, not from an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dumbbell.plan import Plan


def flow_labels(plan: Plan, made: Sequence[tuple[str, str]] = ()) -> Mapping[str, Sequence[str | None]]:
    """By column: of each TCP connection and stream of datagrams in the order of the plan, then of those that workloads made during the run.

    Args:
        plan: Has those that exist from the start.
        made: Workload and name of each of the others.
    """
    by_id = {workload.id: workload for workload in plan.workloads}
    listed = [(workload, flow.name) for workload, flow in plan.flows]
    flows = [*listed, *((by_id[workload], name) for workload, name in made)]
    return {
        "flow": [name for _, name in flows],
        "group": [workload.id for workload, _ in flows],
        "kind": [workload.kind for workload, _ in flows],
        "transport": [workload.transport for workload, _ in flows],
        "path": [plan.paths[workload.path].id for workload, _ in flows],
        "cc": [None if workload.over is None else str(workload.over.cc["kind"]) for workload, _ in flows],
    }


def group_labels(plan: Plan, names: Sequence[str]) -> Mapping[str, Sequence[str | None]]:
    """By column: the values of each row of the table of groups. A name is the id of a workload, which has no blank, or that with a class of
    sizes."""
    by_id = {workload.id: workload for workload in plan.workloads}
    parts = [name.partition(" ") for name in names]
    groups = [by_id[workload] for workload, _, _ in parts]
    return {
        "group": names,
        "kind": [workload.kind for workload in groups],
        "direction": [workload.direction for workload in groups],
        "sizes": [sizes or None for _, _, sizes in parts],
        "path": [plan.paths[workload.path].id for workload in groups],
        "cc": [None if workload.over is None else str(workload.over.cc["kind"]) for workload in groups],
    }


def tin_labels(names: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """By column: the values of each row of the table of tins. A name is that of a port, a slash and the tin's name there."""
    return {"tin": names, "port": [name.rpartition("/")[0] for name in names]}
