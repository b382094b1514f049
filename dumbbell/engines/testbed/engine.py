"""The engine `testbed`: real Linux hosts in real time, which are namespaces of this machine, or the machines of a hosts file."""

from __future__ import annotations

import fcntl
import platform
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.engines.base import Engine
from dumbbell.engines.capabilities import Capabilities
from dumbbell.engines.linux import Script, applications, compile_plan
from dumbbell.engines.linux.attribution import refusal
from dumbbell.engines.linux.refusals import refusals
from dumbbell.engines.linux.versions import numbers
from dumbbell.engines.prepared import Prepared
from dumbbell.engines.testbed import capabilities as table
from dumbbell.engines.testbed.buckets import with_buckets
from dumbbell.errors import EnvironmentFault
from dumbbell.plan import RUN, Kept, Place, Plan, Refusal, Traffic
from dumbbell.scenario import Duration, ScenarioError
from dumbbell.scenario.units import ETHERNET_MTU

if TYPE_CHECKING:
    from dumbbell.engines.testbed.hosts import Hosts
    from dumbbell.results import Run

_LEAST_SAMPLE_NS = 10_000_000
"""Interval of samples that a machine with other work keeps."""
_OVERHEAD_S = 3.0
"""Wall time of a run in addition to its duration."""
_NOTE_BYTES = 16
"""Bytes at the start of a page's request if the server is on another machine (struct note in agent.h)."""


class Testbed(Engine):
    """Linux hosts in real time."""

    name = table.NAME
    in_real_time = True

    def capabilities(self) -> Capabilities:
        """Return the abilities that Linux can have."""
        return table.capabilities()

    def require(self, _plan: Plan | None = None) -> None:
        """Raises `EnvironmentFault` if this machine cannot be a testbed, or cannot reach others."""
        from dumbbell.engines.testbed import local

        if others() is None:
            local.require()
            local.lateness()
        else:
            require_ssh()

    def compile(self, plan: Plan, _kept: Kept | None = None) -> Script:
        """The script, with the buckets that a machine with timers on time has."""
        return compile_plan(with_buckets(plan, 0).plan, real_time=True)

    def as_text(self, compiled: Script) -> str:
        """These files as one text."""
        return compiled.text

    def sources(self, _plan: Plan | None = None) -> tuple[str, ...]:
        """The agent, and which machines. Raises `EnvironmentFault` if the agent cannot be compiled."""
        from dumbbell.engines.linux import programs

        if (hosts := others()) is None:
            return programs.agent().key, platform.release(), platform.node()
        return programs.agent().key, *(f"{name} {machine.role} {machine.at}" for name, machine in hosts.by_name.items())

    def refusals(self, plan: Plan, compiled: Script) -> Iterator[Refusal]:
        """Yield plans that real time does not allow, and that these machines cannot run."""
        yield from super().refusals(plan, compiled)
        if 0 < plan.sample_ns < _LEAST_SAMPLE_NS:
            what = f"{Duration(plan.sample_ns)} is shorter than a machine keeps"
            yield Refusal(RUN, "sample_ns", what, f"at least {Duration(_LEAST_SAMPLE_NS)}")
        yield from refusals(plan, self.name)
        yield from applications.refusals(plan)
        yield from _refused_here(plan) if (hosts := others()) is None else _refused_there(plan, hosts)

    def cpu_s(self, plan: Plan) -> float:
        """Wall time of a run, s, in which nothing else should run."""
        return plan.duration_ns / 1e9 + _OVERHEAD_S

    def produce(self, prepared: Prepared) -> Run:
        """Has the agents carry out the run, one run at a time on this machine. Raises `EnvironmentFault` if one of them fails."""
        from dumbbell.engines.linux import collect
        from dumbbell.engines.testbed import elsewhere, here

        hosts = others()
        with _alone(), tempfile.TemporaryDirectory(prefix="dumbbell-run-") as place:
            folder = Path(place)
            try:
                left = here.run(prepared, folder) if hosts is None else elsewhere.run(prepared, hosts, folder)
            except EnvironmentFault as fault:
                if found := refusal(prepared.plan, str(fault)):
                    raise ScenarioError([prepared.planned.problem(prepared.resolved, found)]) from None
                raise
            return collect.run_of(prepared, left)


ENGINE = Testbed()


def others() -> Hosts | None:
    """The machines of the hosts file; None if there is none, or if it says that this one is all. Raises `ScenarioError` as it is read."""
    from dumbbell.engines.testbed.hosts import Hosts, find

    if (path := find(None)) is None:
        return None
    hosts = Hosts.from_file(path)
    return None if hosts.is_local else hosts


def require_ssh() -> None:
    """Raise `EnvironmentFault` if the program that reaches other machines is not installed."""
    if find_spec("asyncssh") is None:
        raise EnvironmentFault("asyncssh, which reaches other machines, is not installed; expected `pip install 'dumbbell[testbed]'`")


def _refused_here(plan: Plan) -> Iterator[Refusal]:
    """Stacks that this machine does not have."""
    version = ".".join(map(str, numbers(platform.release())[:2]))
    for i, prefix, workload in plan.over_tcp:
        if workload.stack not in (table.OWN_STACK, f"linux-{version}"):
            what = f"{workload.stack!r} is not the stack of this machine, whose kernel is {platform.release()}"
            yield Refusal(Place("workload", i), f"{prefix}stack.base", what, f"stack: {{base: {table.OWN_STACK}}}, or engine: sim")


def _refused_there(plan: Plan, hosts: Hosts) -> Iterator[Refusal]:
    """Yield hosts that the testbed does not have, and requests that cannot tell another machine what they ask for."""
    from dumbbell.engines.linux.sources.draws import least_request
    from dumbbell.engines.testbed.deployment import unseated

    yield from unseated(plan, hosts)
    if plan.mtu_bytes != ETHERNET_MTU:
        what = f"is an MTU of {plan.mtu_bytes}, and data devices of machines have {ETHERNET_MTU}"
        yield Refusal(Place("path", 0), "mtu", what, f"{ETHERNET_MTU}, or machines: local")
    for i, workload in enumerate(plan.workloads):
        if isinstance(workload, Traffic) and workload.kind == "page" and (least := least_request(plan, workload)) < _NOTE_BYTES:
            what = f"is {least}B at times, too little to tell another machine what is asked for"
            yield Refusal(Place("workload", i), "request_bytes", what, f"at least {_NOTE_BYTES}B, or machines: local")


@contextmanager
def _alone() -> Iterator[None]:
    """One run at a time on this machine, of all processes: two would wait for each other's timers."""
    path = Path(tempfile.gettempdir()) / "dumbbell-testbed.lock"
    try:
        lock = path.open("w", encoding="ascii")
    except OSError as error:
        raise EnvironmentFault(f"{path}: {error.strerror}") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
