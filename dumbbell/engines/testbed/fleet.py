"""Actions on all machines of a testbed at once. An error names all machines that failed, a line each."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import io
import os
import platform
import tarfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from dumbbell.engines.linux import programs
from dumbbell.engines.testbed.deployment import MachinePart
from dumbbell.engines.testbed.facts import Facts, collect
from dumbbell.engines.testbed.hosts import Hosts
from dumbbell.engines.testbed.journal import Journal, open_journal, recover, sysctls
from dumbbell.engines.testbed.lateness import Lateness
from dumbbell.engines.testbed.preflight import Problem, addresses_asked, check, interfaces
from dumbbell.engines.testbed.transport.base import Machine, MachineFault, packed
from dumbbell.engines.testbed.transport.ssh import connect, targets
from dumbbell.engines.testbed.verification import Question
from dumbbell.errors import EnvironmentFault
from dumbbell.files import SafeFolder

AGENT, PROBE = "agent", "probe"
"""Programs, as they are called in the folder of a session."""
_HERE = Path(__file__).parent
_LATENESS_MS = 1000
_READ_EACH = 'for each; do cat "$each" 2>/dev/null | tr -d "\\n"; printf "\\037"; done'
"""Values of files, each ended by a US."""
_SECONDS = 30.0
"""Time in which a program of a machine must answer."""
_ANSWERING_S = 120.0
"""Time in which all questions are answered, or known to have no answer."""
_FRESH_S = 5.0
"""Maximum age of the facts with which a run begins: the time that slow machines take to be set up."""
_late: dict[str, Lateness] = {}
"""Lateness of machines, measured once by a process."""
_known: dict[str, tuple[float, dict[str, Facts]]] = {}
"""Facts of the machines of a hosts file after the last run of this process, and their time, `time.monotonic()`."""

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Found:
    """Facts of machines, and their problems."""

    facts: Mapping[str, Facts]
    problems: list[Problem]


def preflight(hosts: Hosts) -> Found:
    """Asks all machines; nothing is changed. Raises `EnvironmentFault` with a line for each that cannot be reached."""

    async def ask(machines: Mapping[str, Machine]) -> Found:
        facts = await facts_of(hosts, machines)
        return Found(facts, check(hosts, facts, {}))

    return asyncio.run(with_machines(hosts, ask))


def recovered(hosts: Hosts) -> dict[str, int]:
    """Undo the changes that a dead session has left. Return their number, by machine. Raises `EnvironmentFault` if a session is alive."""

    async def undo(machines: Mapping[str, Machine]) -> dict[str, int]:
        return await each(machines, recover)

    return asyncio.run(with_machines(hosts, undo))


async def with_machines(hosts: Hosts, act: Callable[[Mapping[str, Machine]], Awaitable[T]]) -> T:
    """Return the result of an action while the machines are connected. Raises `EnvironmentFault` with a line for each machine that cannot
    be reached."""
    machines = await connect(targets(hosts))
    try:
        return await act(machines)
    finally:
        await asyncio.gather(*(machine.close() for machine in machines.values()), return_exceptions=True)


async def facts_of(hosts: Hosts, machines: Mapping[str, Machine], before: Mapping[str, Facts] | None = None) -> dict[str, Facts]:
    """Return facts of all machines. Facts that do not change are not asked for again for those of `before`.

    Raises `EnvironmentFault` with a line for each machine that does not answer.
    """

    def asked(machine: Machine) -> Awaitable[Facts]:
        devices = [interface.device for interface in interfaces(hosts.by_name[machine.name])]
        return collect(machine, devices, addresses_asked(hosts, machine.name), None if before is None else before[machine.name])

    return await each(machines, asked)


async def facts_before(hosts: Hosts, machines: Mapping[str, Machine]) -> dict[str, Facts]:
    """Facts of all machines before a run: those after the one just before it, if nobody else is there. Raises as `facts_of`."""
    asked_s, known = _known.pop(str(hosts), (0.0, None))
    if known is None:
        return await facts_of(hosts, machines)
    if time.monotonic() - asked_s < _FRESH_S and not any(each.leftover.locked for each in known.values()):
        return known
    found = await facts_of(hosts, machines, known)
    booted = {name: machine for name, machine in machines.items() if found[name].kernel.boot_id != known[name].kernel.boot_id}
    return found | await facts_of(hosts, booted)


async def facts_after(hosts: Hosts, machines: Mapping[str, Machine], before: Mapping[str, Facts]) -> dict[str, Facts]:
    """Facts of all machines after a run, kept for the next one. Raises as `facts_of`."""
    found = await facts_of(hosts, machines, before)
    if all(each.kernel.boot_id == before[name].kernel.boot_id for name, each in found.items()):
        _known[str(hosts)] = time.monotonic(), found
    return found


async def each(machines: Mapping[str, Machine], act: Callable[[Machine], Awaitable[T]]) -> dict[str, T]:
    """Return the result of an action for each machine, done on all at once. Raises `EnvironmentFault` with a line for each machine that
    fails."""
    found = await asyncio.gather(*(act(machine) for machine in machines.values()), return_exceptions=True)
    if others := [each for each in found if isinstance(each, BaseException) and not isinstance(each, EnvironmentFault)]:
        raise others[0]
    if faults := [each for each in found if isinstance(each, EnvironmentFault)]:
        raise EnvironmentFault("\n".join(map(str, faults)))
    return dict(zip(machines, found, strict=True))  # type: ignore[arg-type]


async def both(one: Awaitable[T], other: Awaitable[U]) -> tuple[T, U]:
    """Return the results of two actions that run on a machine at once. Raises the exception of the first one that failed, once both are
    over."""
    found = await asyncio.gather(one, other, return_exceptions=True)
    for each in found:
        if isinstance(each, BaseException):
            raise each
    return found  # type: ignore[return-value]


@asynccontextmanager
async def claimed(machines: Mapping[str, Machine]) -> AsyncIterator[dict[str, Journal]]:
    """Open a journal on each machine. Changes under the journals are undone at the end, for whatever reason it comes."""
    session = f"{getpass.getuser()}@{platform.node()}, process {os.getpid()}, since {time.strftime('%Y-%m-%d %H:%M:%S %Z')}"
    journals: dict[str, Journal] = {}

    async def claim(machine: Machine) -> None:
        journals[machine.name] = await open_journal(machine, session)

    try:
        await each(machines, claim)
        yield journals
    finally:
        closed = await asyncio.gather(*(journal.close() for journal in journals.values()), return_exceptions=True)
    if faults := [each for each in closed if isinstance(each, BaseException)]:
        raise EnvironmentFault("\n".join(map(str, faults)))


async def put_programs(machine: Machine, at: str) -> None:
    """Put the agent, and the program that asks about paths, into a folder. Raises `MachineFault`."""
    probe = programs.compiled("probe", [_HERE / f"{PROBE}.c"])
    await machine.put_archive(_archive(programs.agent().path, probe.path), at, _SECONDS)


@lru_cache(maxsize=1)
def _archive(agent: Path, probe: Path) -> bytes:
    """The programs, packed once for all machines and runs: their names have hashes of their sources."""
    return packed({AGENT: agent.read_bytes(), PROBE: probe.read_bytes()}, mode=0o700)


async def lateness(machine: Machine, agent: str) -> Lateness:
    """Return how late a machine's timers are, measured once by a process. Raises `MachineFault`."""
    if machine.name in _late:
        return _late[machine.name]
    done = await machine.run([agent, "lateness", str(_LATENESS_MS)], timeout=_SECONDS)
    if done.status:
        raise MachineFault(machine.name, f"the agent does not run: {done.said}")
    return _late.setdefault(machine.name, Lateness.read(done.out.decode()))


async def change(machine: Machine, journal: Journal, part: MachinePart, at: str) -> None:
    """Put the files of a machine into a folder, and make its changes. The old values of its settings are read first."""

    async def put() -> None:
        files = {name: content if isinstance(content, bytes) else content.encode("ascii") for name, content in part.files.items()}
        await machine.put_all(files, at, _SECONDS)

    paths = [f"/proc/sys/{name.replace('.', '/')}" for name in part.settings]
    _, done = await both(put(), machine.run(["sh", "-c", _READ_EACH, "read", *paths], timeout=_SECONDS))
    former = dict(zip(part.settings, done.out.decode().split("\x1f"), strict=False))
    if lacking := [name for name in part.settings if not former.get(name)]:
        raise MachineFault(machine.name, f"sysctl {lacking[0]}: this kernel has no such setting")
    await journal.make([*sysctls(part.settings, former), *part.changes])


async def answers(machine: Machine, at: str, asked: Sequence[Question]) -> list[int]:
    """Return a machine's answer to each question, ns. Raises `MachineFault`."""
    text = "".join(f"{each.words}\n" for each in asked)
    done = await machine.run([f"{at}/{PROBE}"], text.encode(), _ANSWERING_S)
    if done.status:
        raise MachineFault(machine.name, f"it cannot be asked whether paths are as they should be: {done.said}")
    return [int(line) for line in done.out.split()]


async def explained(machine: Machine, fault: MachineFault, at: str) -> MachineFault:
    """Return the fault with the agent's message about it, and the end of its programs' output."""
    texts = []
    for name in ("error", "log"):
        with contextlib.suppress(MachineFault):
            texts += (await machine.get(f"{at}/{name}", _SECONDS)).decode(errors="replace").strip().splitlines()[-1:]
    return MachineFault(machine.name, "; ".join(texts)) if texts else fault


async def fetch(machine: Machine, at: str, place: Path) -> None:
    """The files that the agent has left, without programs."""
    done = await machine.run(["tar", "-C", at, *(f"--exclude=./{name}" for name in (AGENT, PROBE)), "-cf", "-", "."])
    if done.status:
        raise MachineFault(machine.name, f"cannot read {at}: {done.said}")
    place.mkdir()
    with tarfile.open(fileobj=io.BytesIO(done.out)) as archive:
        for member in archive:
            if member.isreg() and (file := archive.extractfile(member)) is not None:
                SafeFolder(place).replace(member.name.removeprefix("./"), file.read())
    if not (place / "done").is_file():
        raise MachineFault(machine.name, "the agent has left no results")
