"""The engine: boots a guest for each run and reads what it leaves."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.engines.base import Engine, expected_packets
from dumbbell.engines.capabilities import Capabilities
from dumbbell.engines.kernel import capabilities as table
from dumbbell.engines.kernel.attribution import scenario_problem
from dumbbell.engines.kernel.lower import description, lower
from dumbbell.errors import EnvironmentFault
from dumbbell.native import native
from dumbbell.scenario import DelayStage, Problem, ResolvedScenario, ScenarioError, flow_names

if TYPE_CHECKING:
    from dumbbell.engines.kernel.binary import Binary
    from dumbbell.results import Run

_MOST_FLOWS = 1000
"""Sockets, filters and processes of one guest."""
_BOOT_CPU_S = 0.6
_PACKET_CPU_S = 45e-6
"""Of a data packet and its ACK, through four ports, on the machine this was measured on."""
_TIME_LIMIT_FACTOR = 40
"""A guest that takes so much longer than expected hangs."""


class Kernel(Engine):
    """The real kernel."""

    name = table.NAME

    def capabilities(self) -> Capabilities:
        """What the kernel can run."""
        return table.capabilities()

    def require(self) -> None:
        """Raises `EnvironmentFault` if the kernel is not built or a guest cannot be booted here."""
        _ready()

    def refuse_details(self, runs: Sequence[ResolvedScenario]) -> None:
        """Raises `ScenarioError` with what no table shows."""
        problems: dict[Problem, None] = {}
        for resolved in runs:
            flows = resolved.settings.flows
            if (count := sum(map(len, flow_names(flows)))) > _MOST_FLOWS:
                what = f"are {count}; expected at most {_MOST_FLOWS} in the engine kernel"
                problems[resolved.problem(("flows",), what)] = None
            for i, flow in enumerate(flows):
                if flow.host.cached_ssthresh is not None:
                    what = "the engine kernel has no ssthresh from a cache (Linux 6.12 takes none from a route); expected engine: sim"
                    problems[resolved.problem(("flows", i, "host", "cached_ssthresh"), what)] = None
        if problems:
            raise ScenarioError(list(problems))

    def key(self, resolved: ResolvedScenario) -> str:
        """The content hash of a run: scenario, what the guest is told, kernel and agent."""
        from dumbbell.engines.kernel.binary import find

        binary = find()
        parts = [self.name, binary.key, binary.agent_hash, str(sorted(resolved.dump().items())), description(lower(resolved))]
        if resolved.settings.passive_rtt:
            parts.append(native().TRACE_HASH)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    def cpu_s(self, resolved: ResolvedScenario) -> float:
        """About what a run costs."""
        return _BOOT_CPU_S + expected_packets(resolved) * _PACKET_CPU_S

    def produce(self, resolved: ResolvedScenario, run_key: str) -> Run:
        """Boots a guest, waits for it, and reads what it leaves. Raises `EnvironmentFault` if it does not get to its end."""
        from dumbbell.engines.kernel import collect
        from dumbbell.engines.kernel.guest import boot
        from dumbbell.results import Run, digest, judge
        from dumbbell.trace import with_passive_rtt

        binary, guest = _ready(), lower(resolved)
        with tempfile.TemporaryDirectory(prefix="dumbbell-run-") as place:
            folder = Path(place)
            for name, text in guest.files.items():
                (folder / name).write_text(text, encoding="ascii")
            try:
                cpu_s = boot(binary, folder, seed=resolved.settings.seed, timeout_s=60 + _TIME_LIMIT_FACTOR * self.cpu_s(resolved))
            except EnvironmentFault as fault:
                if problem := scenario_problem(resolved, str(fault)):
                    raise ScenarioError([problem]) from None
                raise
            blocks = tuple(collect.blocks(guest, folder)) if resolved.settings.sample else ()
            captures = {name: (folder / name).read_bytes() for name in guest.captures}
            counters, wrong = collect.counters(guest, folder, resolved)
        delays = {name for name, port in guest.plan.ports.items() if isinstance(port.stage, DelayStage)}
        status, reasons = judge(counters, wrong, delays)
        run = Run(
            key=run_key,
            name=resolved.name,
            cell=resolved.cell,
            scenario=resolved.dump(),
            status=status,
            reasons=reasons,
            counters=counters,
            digest=digest(blocks),
            engine=_facts(binary) | guest.metadata,
            samples=blocks,
            captures=captures,
            cpu_s=cpu_s,
        )
        return with_passive_rtt(run) if resolved.settings.passive_rtt else run


ENGINE = Kernel()


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
    """The kernel, after a guest without work was booted."""
    from dumbbell.engines.kernel.binary import find
    from dumbbell.engines.kernel.guest import probe

    binary = find()
    if reason := probe(binary):
        raise EnvironmentFault(reason)
    return binary
