"""The engine `kernel`: boots a guest for each run and reads its results."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.engines.base import Engine, expected_packets
from dumbbell.engines.capabilities import Capabilities
from dumbbell.engines.kernel import capabilities as table
from dumbbell.engines.linux import ARRIVAL_BYTES, Script, coming, compile_plan, conflicts, host_conflicts, ping_conflicts, point_conflicts
from dumbbell.engines.linux.attribution import refusal
from dumbbell.engines.prepared import Prepared
from dumbbell.errors import EnvironmentFault
from dumbbell.plan import RUN, Kept, Place, Plan, Refusal
from dumbbell.scenario import ScenarioError

if TYPE_CHECKING:
    from dumbbell.engines.kernel.binary import Binary
    from dumbbell.results import Run

_MOST_FLOWS = 1000
"""Maximum number of flows of a run: one guest must hold their sockets and filters."""
_MOST_COMING = 100_000
"""Connections that come and go, of all workloads together."""
_MOST_WORKLOADS = 21
"""Of such connections: each has 256 of the TCP ports from 60000 on."""
_BOOT_CPU_S = 0.6
_PACKET_CPU_S = 45e-6
"""CPU time of a data packet and its ACK through four ports, measured on one machine."""
_TIME_LIMIT_FACTOR = 40
"""A guest that takes longer than the estimate by this factor counts as hanging."""


class Kernel(Engine):
    """The real kernel."""

    name = table.NAME

    def capabilities(self) -> Capabilities:
        """What the kernel can run."""
        return table.capabilities()

    def require(self) -> None:
        """Raises `EnvironmentFault` if the kernel is not built or a guest cannot be booted here."""
        _ready()

    def compile(self, plan: Plan, _kept: Kept | None = None) -> Script:
        """The script and the other files for the guest."""
        return compile_plan(plan)

    def as_text(self, compiled: Script) -> str:
        """These files as one text."""
        lists = {name: hashlib.sha256(content).hexdigest() for name, content in compiled.arrivals.items()}
        return json.dumps({**compiled.files, **lists}, sort_keys=True)

    def sources(self) -> tuple[str, ...]:
        """Hashes of the kernel and of the agent. Raises `EnvironmentFault` if the kernel is not built."""
        from dumbbell.engines.kernel.binary import find

        binary = find()
        return binary.key, binary.agent_hash

    def refusals(self, plan: Plan, compiled: Script) -> Iterator[Refusal]:
        """Refuses more flows than a guest can hold, and options that Linux 6.12 does not have."""
        yield from super().refusals(plan, compiled)
        if (count := sum(len(workload.connections) for _, _, workload in plan.over_tcp)) > _MOST_FLOWS:
            yield Refusal(RUN, "flows", f"are {count}", f"at most {_MOST_FLOWS} in the engine kernel")
        yield from _coming_refused(plan, compiled)
        yield from conflicts(plan)
        yield from host_conflicts(plan)
        yield from ping_conflicts(plan)
        yield from point_conflicts(plan)
        for i, prefix, workload in plan.over_tcp:
            if workload.host.cached_ssthresh is not None:
                what = "the engine kernel has no ssthresh from a cache (Linux 6.12 takes none from a route)"
                yield Refusal(Place("workload", i), f"{prefix}host.cached_ssthresh", what, "engine: sim")

    def cpu_s(self, plan: Plan) -> float:
        """Estimated CPU seconds of a run."""
        return _BOOT_CPU_S + expected_packets(plan) * _PACKET_CPU_S

    def produce(self, prepared: Prepared) -> Run:
        """Boots a guest, waits for its end and reads its results. Raises `EnvironmentFault` if it does not end regularly."""
        from dumbbell.engines.kernel.guest import boot
        from dumbbell.engines.linux import collect
        from dumbbell.results import Run, digest, judge
        from dumbbell.results.tables import counters
        from dumbbell.trace import with_passive_rtt

        binary = _ready()
        resolved, plan, script = prepared.resolved, prepared.plan, prepared.compiled
        with tempfile.TemporaryDirectory(prefix="dumbbell-run-") as place:
            folder = Path(place)
            for name, text in script.files.items():
                (folder / name).write_text(text, encoding="ascii")
            for name, content in script.arrivals.items():
                (folder / name).write_bytes(content)
            try:
                cpu_s = boot(binary, folder, seed=plan.seed, timeout_s=60 + _TIME_LIMIT_FACTOR * prepared.cpu_s)
            except EnvironmentFault as fault:
                if found := refusal(plan, str(fault)):
                    raise ScenarioError([prepared.planned.problem(resolved, found)]) from None
                raise
            flows, groups, ports, tins, wrong = collect.tables(plan, script.devices, folder)
            blocks = tuple(collect.blocks(plan, folder, flows, table.NAME)) if plan.sample_ns else ()
            captures = {name: (folder / name).read_bytes() for name in script.captures}
        groups_coming = {workload.id for _, workload in coming(plan)}
        made = {f"flow/{name}" for name, group in zip(flows.names, flows.column("group"), strict=True) if group in groups_coming}
        status, reasons = judge(counters(flows, ports), wrong, plan.links, made)
        run = Run(
            key=prepared.key,
            name=resolved.name,
            cell=resolved.cell,
            scenario=prepared.scenario,
            status=status,
            reasons=reasons,
            flows=flows,
            groups=groups,
            ports=ports,
            tins=tins,
            digest=digest(blocks),
            engine=_facts(binary) | script.metadata,
            samples=blocks,
            captures=captures,
            plan=plan.plain(),
            cpu_s=cpu_s,
        )
        return with_passive_rtt(run) if resolved.settings.passive_rtt else run


ENGINE = Kernel()


def _coming_refused(plan: Plan, compiled: Script) -> Iterator[Refusal]:
    """More connections that come and go than a guest can hold, more workloads of them than there are ranges of ports, and slow readers."""
    workloads = [i for i, _ in coming(plan)]
    if (many := sum(map(len, compiled.arrivals.values())) // ARRIVAL_BYTES) > _MOST_COMING:
        yield Refusal(
            Place("workload", workloads[0]), "arrivals", f"makes {many} connections", f"at most {_MOST_COMING} in the engine kernel"
        )
    for i in workloads[_MOST_WORKLOADS:]:
        what = f"is one of {len(workloads)} entries whose connections come and go"
        yield Refusal(Place("workload", i), "", what, f"at most {_MOST_WORKLOADS} in the engine kernel")
    for i, workload in coming(plan):
        if workload.tcp is not None and (bps := workload.tcp.host.reads_bps) is not None:
            yield Refusal(Place("workload", i), "tcp.host.reads_bps", f"{bps} bit/s", "none where connections come and go")


def _facts(binary: Binary) -> dict[str, Any]:
    return {
        "name": table.NAME,
        "version": binary.version,
        "configuration": binary.config_hash,
        "kernel": binary.key,
        "agent": binary.agent_hash,
    }


@cache
def _ready() -> Binary:
    """The kernel, once a guest with an empty script has been booted successfully."""
    from dumbbell.engines.kernel.binary import find
    from dumbbell.engines.kernel.guest import probe

    binary = find()
    if reason := probe(binary):
        raise EnvironmentFault(reason)
    return binary
