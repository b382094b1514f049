"""The engine `kernel`: boots a guest for each run and reads its results."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.engines.base import Engine, expected_packets
from dumbbell.engines.capabilities import Capabilities
from dumbbell.engines.kernel import capabilities as table
from dumbbell.engines.kernel.binary import find, named, unknown
from dumbbell.engines.kernel.series import DEFAULT, versions
from dumbbell.engines.linux import ARRIVAL_BYTES, Script, applications, coming, compile_plan, loaded
from dumbbell.engines.linux.attribution import refusal
from dumbbell.engines.linux.refusals import refusals
from dumbbell.engines.prepared import Prepared
from dumbbell.errors import EnvironmentFault
from dumbbell.plan import Kept, Place, Plan, Refusal
from dumbbell.scenario import ScenarioError

if TYPE_CHECKING:
    from dumbbell.engines.kernel.binary import Binary
    from dumbbell.results import Run

_MOST_COMING = 100_000
"""Connections that come and go, of all workloads together."""
_MOST_WORKLOADS = 21
"""Maximum number of workloads with such connections: each has 256 of the TCP ports from 60000 on."""
_BOOT_CPU_S = 0.2
_PACKET_CPU_S = 8e-6
"""CPU time of a data packet of a bulk flow and its ACK through four ports, measured on one machine; others take more."""
_SETUP_S = 44
"""From a guest's start to time 0 of its run (traffic.c)."""
_SPINNING_S = 240
"""More time for a guest with programs: its kernel ends one that spins after 20 s of a processor, which may be shared with other work."""
_PROGRAM_CPU = 0.3
"""CPU seconds that a program takes in a second of the run: as much as iperf3."""
_TIME_LIMIT_FACTOR = 40
"""A guest that takes longer than the estimate by this factor counts as hanging."""


class Kernel(Engine):
    """The real kernel: that of the default series, or another by its name."""

    def __init__(self, build: str = DEFAULT) -> None:
        """`build` is a series, or the name that the user gave to a kernel."""
        self._build = build
        self.name = table.NAME if build == DEFAULT else f"{table.NAME}:{build}"

    @property
    def _sets(self) -> tuple[str, ...]:
        """The sets of further changes that the kernel has."""
        found = None if self._build in versions() else named(self._build)
        return () if found is None else found.sets

    def variant(self, name: str) -> Engine:
        """The engine with the kernel of a series, or with a kernel that the user gave a name. Raises `BadInput` if there is no such."""
        return _variant(name)

    def capabilities(self) -> Capabilities:
        """Return the capabilities of the kernel."""
        if self._build in versions():
            return table.capabilities(self.name, self._build)
        found = named(self._build)
        if found is None:
            raise unknown(self._build)
        return table.capabilities(self.name, found.series, found.lacks, found.sets)

    def require(self, plan: Plan | None = None) -> None:
        """Raises `EnvironmentFault` if the kernel is not built, a guest cannot be booted, or a program of the plan is not installed."""
        _ready(self._build)
        if plan is not None and (lacking := [*applications.missing(plan), *loaded.missing(plan)]):
            raise EnvironmentFault("\n".join(lacking))

    def compile(self, plan: Plan, _kept: Kept | None = None) -> Script:
        """The script and the other files for the guest."""
        return compile_plan(plan)

    def as_text(self, compiled: Script) -> str:
        """These files as one text."""
        return compiled.text

    def sources(self, plan: Plan | None = None) -> tuple[str, ...]:
        """Hashes of the kernel, of the agent and of the programs that make flows. Raises `EnvironmentFault` if the kernel is not built."""
        binary = find(self._build)
        found = {} if plan is None or not applications.has_programs(plan) else applications.identities(plan)
        return binary.key, binary.agent_hash, *(f"{name} {each.key}" for name, each in found.items())

    def refusals(self, plan: Plan, compiled: Script) -> Iterator[Refusal]:
        """Refuses more flows than a guest can hold, and options that Linux 6.12 does not have."""
        yield from super().refusals(plan, compiled)
        yield from _coming_refused(plan, compiled)
        yield from refusals(plan, self.name, self._sets)
        yield from applications.refusals(plan)

    def cpu_s(self, plan: Plan) -> float:
        """Estimated CPU seconds of a run."""
        programs = sum(len(workload.flows) for workload in plan.tcp if workload.application is not None)
        return _BOOT_CPU_S + expected_packets(plan) * _PACKET_CPU_S + programs * _PROGRAM_CPU * plan.duration_ns / 1e9

    def produce(self, prepared: Prepared) -> Run:
        """Boots a guest, waits for its end and reads its results. Raises `EnvironmentFault` if it does not end regularly.

        A run that needs more memory than guests have is done again with more. It is the same again wherever it is computed, as it does
        not find room in less anywhere.
        """
        from dumbbell.engines.kernel.guest import LARGE_MEMORY, MEMORY, MORE_MEMORY, ShortOfMemory

        sizes: tuple[str, ...] = (MEMORY, *MORE_MEMORY)
        if any(not (workload.host.rmem and workload.host.wmem) for _, _, workload in prepared.plan.over_tcp):
            sizes = (LARGE_MEMORY,)
        elif applications.has_programs(prepared.plan):
            sizes = MORE_MEMORY
        spent_s = 0.0
        for memory in sizes[:-1]:
            try:
                return self._booted(prepared, memory, spent_s)
            except ShortOfMemory as fault:
                spent_s += fault.cpu_s
        return self._booted(prepared, sizes[-1], spent_s)

    def _booted(self, prepared: Prepared, memory: str, spent_s: float) -> Run:
        """`spent_s`: CPU seconds of guests that had too little memory for it."""
        from dumbbell.engines.kernel.guest import MEMORY, boot
        from dumbbell.engines.linux import collect

        binary = _ready(self._build)
        resolved, plan, script = prepared.resolved, prepared.plan, prepared.compiled
        with tempfile.TemporaryDirectory(prefix="dumbbell-run-") as place:
            folder = Path(place)
            script.write(folder)
            try:
                limit_s = 60 + _TIME_LIMIT_FACTOR * prepared.cpu_s + (_SPINNING_S if applications.has_programs(plan) else 0)
                clock = {} if plan.clock_s is None else {"start_ns": (plan.clock_s - _SETUP_S) * 10**9}
                cpu_s = boot(binary, folder, seed=plan.seed, timeout_s=limit_s, memory=memory, **clock)
            except EnvironmentFault as fault:
                if found := refusal(plan, str(fault)):
                    raise ScenarioError([prepared.planned.problem(resolved, found)]) from None
                raise
            captures = {name: (folder / name).read_bytes() for name in script.captures}
            more: dict[str, Any] = {} if memory == MEMORY else {"memory": memory}
            if applications.has_programs(plan):
                more["programs"] = {name: each.plain() for name, each in applications.identities(plan).items()}
            left = collect.Left(
                folder, plan, script.devices, captures, _facts(self.name, binary) | more | script.metadata, cpu_s=spent_s + cpu_s
            )
            return collect.run_of(prepared, left)


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


def _facts(name: str, binary: Binary) -> dict[str, Any]:
    return {
        "name": name,
        "version": binary.version,
        "configuration": binary.config_hash,
        "kernel": binary.key,
        "agent": binary.agent_hash,
    }


@cache
def _variant(name: str) -> Kernel:
    # A name may come to stand for another kernel. Only its existence is checked.
    if name not in versions() and named(name) is None:
        raise unknown(name)
    return Kernel(name)


def _ready(build: str) -> Binary:
    """The kernel, once a guest with an empty script has been booted successfully."""
    binary = find(build)
    _booted_once(binary)
    return binary


@cache
def _booted_once(binary: Binary) -> None:
    from dumbbell.engines.kernel.guest import probe

    if reason := probe(binary):
        raise EnvironmentFault(reason)
