"""A run on the machines of a hosts file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.engines.linux import DISCIPLINES, applications
from dumbbell.engines.linux.collect import Left
from dumbbell.engines.prepared import Prepared
from dumbbell.engines.testbed import machines, merging, remote, standing
from dumbbell.engines.testbed.buckets import with_buckets
from dumbbell.engines.testbed.capabilities import NAME, OWN_STACK
from dumbbell.engines.testbed.hosts import Hosts
from dumbbell.engines.testbed.lateness import times
from dumbbell.engines.testbed.preflight import Needs
from dumbbell.plan import Outage, Plan, Queue

if TYPE_CHECKING:
    from dumbbell.results import Block, Table

_KERNELS = "linux-"
"""Stacks that are a version of Linux."""
_ROUTER_QDISCS = frozenset(("netem", "tbf"))
_CLASSIFIERS = (frozenset(("flower",)), frozenset(("matchall",)))


def run(prepared: Prepared, hosts: Hosts, folder: Path) -> Left:
    """Carries out a run; its files are in `folder` then, as if they were of one machine. Raises `EnvironmentFault`."""

    router, _ = hosts.router
    own = {host.egress for host in prepared.plan.hosts if host.egress is not None}

    def made(late_us: Mapping[str, float]) -> tuple[Plan, tuple[str, ...]]:
        # It is not yet known which of the hosts has a queue of its own.
        found = with_buckets(prepared.plan, max(late_us.values()) if own else late_us[router])
        return found.plan, found.said

    with tempfile.TemporaryDirectory(prefix="dumbbell-machines-") as name:
        place = Path(name)
        outcome = remote.run(hosts, needs(prepared.plan, hosts), made, times(prepared.plan, remote.LEAD_S), place)
        merging.merge(outcome.plan, outcome.deployment, router, place, folder)
        captures = merging.captures(outcome.deployment, place)
        receivers = merging.receivers(outcome.plan, outcome.deployment, place)
        loads = list(machines.loads({name: place / name for name in outcome.deployment.parts}))

    def series(blocks: Iterable[Block], flows: Table) -> Iterator[Block]:
        yield from merging.with_receivers(outcome.plan, receivers, blocks, flows)
        yield from loads

    facts = {"name": NAME, "transport": "ssh", "machines": outcome.machines, "buckets": list(outcome.said)} | outcome.deployment.facts
    doubts = (*outcome.warnings, *standing.doubts(outcome.plan, folder))
    return Left(folder, outcome.plan, outcome.deployment.devices, captures, facts, doubts, series=series)


def needs(plan: Plan, hosts: Hosts) -> dict[str, Needs]:
    """Return what each machine must have for a run."""
    own = {host.egress for host in plan.hosts if host.egress is not None}
    kinds, of_own = (
        {kind for port in ports for kind in (port.qdisc["kind"], port.shaper["kind"])}
        for ports in (
            [port for port in plan.ports if isinstance(port, Queue)],
            [port for i, port in enumerate(plan.ports) if isinstance(port, Queue) and i in own],
        )
    )
    outages = any(isinstance(change, Outage) for change in plan.schedule)
    rate_bps = max((port.shaper["rate_bps"] for port in plan.ports if isinstance(port, Queue) and "rate_bps" in port.shaper), default=None)
    actions = frozenset(("mirred", *(("gact",) if outages else ())))
    of_router = Needs(
        qdiscs=_ROUTER_QDISCS | (kinds & {*DISCIPLINES, "htb"}),
        filters=_CLASSIFIERS,
        actions=actions,
        tools=frozenset(("ethtool",)),
        rate_bps=rate_bps,
        without_offload=True,
    )
    stacks = {workload.stack for _, _, workload in plan.over_tcp} - {OWN_STACK}
    of_hosts = Needs(
        qdiscs=frozenset(of_own & {*DISCIPLINES, "htb", "tbf"}),
        filters=(frozenset(("flower",)),),
        actions=frozenset(("gact",)),
        controls=frozenset(workload.cc["kind"] for _, _, workload in plan.over_tcp),
        tools=frozenset(("ethtool",)) | applications.needed(plan),
        rate_bps=rate_bps,
        without_offload=any(not workload.host.gso for _, _, workload in plan.over_tcp),
        kernel=min(stacks).removeprefix(_KERNELS) if stacks else None,
    )
    router, _ = hosts.router
    return {name: of_router if name == router else of_hosts for name in hosts.by_name}
