"""Plans that no engine whose hosts are Linux can run, beyond its table."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from dumbbell.engines.linux import sce
from dumbbell.engines.linux.captures import point_conflicts
from dumbbell.engines.linux.controls import conflicts
from dumbbell.engines.linux.filters import ping_conflicts
from dumbbell.engines.linux.hosts import host_conflicts
from dumbbell.plan import RUN, Place, Plan, Refusal

_MOST_FLOWS = 1000
"""Maximum number of flows of a run: a machine must hold their sockets and filters."""


def refusals(plan: Plan, engine: str, sets: Collection[str] = ()) -> Iterator[Refusal]:
    """Yield plans with more flows than a machine can hold, and with settings that Linux lacks. `sets`: the sets of further changes that
    the kernel has."""
    if (count := sum(len(workload.connections) for _, _, workload in plan.over_tcp)) > _MOST_FLOWS:
        yield Refusal(RUN, "flows", f"are {count}", f"at most {_MOST_FLOWS} in the engine {engine}")
    yield from conflicts(plan)
    yield from host_conflicts(plan)
    yield from ping_conflicts(plan)
    yield from point_conflicts(plan)
    if sce.NAME in sets:
        yield from sce.refusals(plan)
        return
    for i, prefix, workload in plan.over_tcp:
        if workload.host.sender_rmem:
            what = f"in the engine {engine} the two hosts of a flow have the same buffers"
            yield Refusal(Place("workload", i), f"{prefix}host.sender_rmem", what, "rmem alone, or engine: sim")
        if workload.host.cached_ssthresh is not None:
            what = f"the engine {engine} has no ssthresh from a cache (Linux 6.12 takes none from a route)"
            yield Refusal(Place("workload", i), f"{prefix}host.cached_ssthresh", what, "engine: sim")
