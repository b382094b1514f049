"""A run on other machines, phase by phase: facts, preflight, claim, setup, verify, clocks, arm, run, collect, clocks, undo, release.

Whatever happens in between, the changes are undone: by the journals, whose leases end with this process.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.engines.linux import programs
from dumbbell.engines.testbed import clocks, fleet
from dumbbell.engines.testbed import machines as machines_of
from dumbbell.engines.testbed.deployment import Deployment, deploy
from dumbbell.engines.testbed.facts import Facts
from dumbbell.engines.testbed.hosts import Hosts
from dumbbell.engines.testbed.journal import FOLDER, Journal, folder
from dumbbell.engines.testbed.lateness import Lateness
from dumbbell.engines.testbed.preflight import Measured, Needs, check, check_after, lines
from dumbbell.engines.testbed.session import Agent, Times, conduct
from dumbbell.engines.testbed.transport.base import Machine, MachineFault
from dumbbell.engines.testbed.verification import problems, questions
from dumbbell.errors import EnvironmentFault
from dumbbell.plan import Plan

LEAD_S = 0.5
"""Time from when all machines are ready to time 0. A machine that hears of it later says so."""
Made = Callable[[Mapping[str, float]], tuple[Plan, tuple[str, ...]]]
"""Return the plan for machines whose timers are this late (us, 99th percentile), and messages about its changes."""


_warned: dict[tuple[str, ...], frozenset[str]] = {}
"""Warnings about the hardware of machines that are set up, asked for once by a process."""


@dataclass(frozen=True)
class Outcome:
    """Results of a run."""

    deployment: Deployment
    plan: Plan
    """The plan as it was run."""
    machines: Mapping[str, Mapping[str, Any]]
    """Facts of each for run.json."""
    warnings: tuple[str, ...]
    said: tuple[str, ...]
    """Messages about changes of the plan."""


def run(hosts: Hosts, needs: Mapping[str, Needs], made: Made, times: Times, place: Path) -> Outcome:
    """Carry out a plan, and leave the files of each machine in a folder of its name below `place`, which is empty.

    `needs`: the needs of the run, by machine. Raises `EnvironmentFault` with a line for each problem.
    """

    async def go(machines: Mapping[str, Machine]) -> Outcome:
        before = await fleet.facts_before(hosts, machines)
        if errors := lines(check(hosts, before, needs), "error"):
            raise EnvironmentFault("\n".join(errors))
        async with fleet.claimed(machines) as journals:
            ready = await _set_up(hosts, machines, journals, before, made)
            doubts = await _verify(hosts, ready, journals, before, needs)
            offsets = ready.offsets
            prompt = await _conducted(hosts, ready, times)

            async def fetch(machine: Machine) -> clocks.Offset:
                files = fleet.fetch(machine, ready.at, place / machine.name)
                return (await fleet.both(clocks.measure(machine, ready.agent), files))[0]

            later = await fleet.each(ready.machines, fetch)
        after = await fleet.facts_after(hosts, machines, before)
        drifts = {name: later[name].offset_ns - offsets[name].offset_ns for name in ready.machines}
        measured = {name: Measured(ready.late[name].p99_us, offsets[name].uncertainty_ns, drifts[name]) for name in ready.machines}
        new = set(lines(check(hosts, before, needs, measured), "warning")) - set(lines(check(hosts, before, needs), "warning"))
        about = {
            name: {
                "release": before[name].kernel.release,
                "agent": programs.agent().key,
                "prompt": prompt[name],
                "timers": ready.late[name].plain(),
                "clock": offsets[name].plain(later[name]),
                **machines_of.recorded(before[name], after[name]),
            }
            for name in ready.machines
        }
        warnings = (*doubts, *sorted(new), *lines(check_after(before, after), "warning"))
        return Outcome(ready.deployment, ready.plan, about, warnings, ready.said)

    return asyncio.run(fleet.with_machines(hosts, go))


@dataclass(frozen=True)
class _Ready:
    """Machines that are set up."""

    machines: Mapping[str, Machine]
    """Machines that the run uses."""
    at: str
    """The folder of the session on each."""
    deployment: Deployment
    plan: Plan
    said: tuple[str, ...]
    late: Mapping[str, Lateness]
    offsets: Mapping[str, clocks.Offset]

    @property
    def agent(self) -> str:
        """Return the path of the agent."""
        return _agent(self.at)


def _agent(at: str) -> str:
    return f"{at}/{fleet.AGENT}"


async def _set_up(
    hosts: Hosts, machines: Mapping[str, Machine], journals: Mapping[str, Journal], before: Mapping[str, Facts], made: Made
) -> _Ready:
    name = f"{os.getpid()}-{time.time_ns()}"
    at = f"{FOLDER}/{name}"

    async def put(machine: Machine) -> Lateness:
        await journals[machine.name].make([folder(name)])
        await fleet.put_programs(machine, at)
        return await fleet.lateness(machine, _agent(at))

    late = await fleet.each(machines, put)
    plan, said = made({name: each.p99_us for name, each in late.items()})
    deployment = deploy(plan, hosts, before, at)
    used = {each: machines[each] for each in deployment.parts}

    async def change(machine: Machine) -> clocks.Offset:
        made = fleet.change(machine, journals[machine.name], deployment.parts[machine.name], at)
        # The fastest of many exchanges counts, so that work at the same time does no harm.
        return (await fleet.both(clocks.measure(machine, _agent(at)), made))[0]

    return _Ready(used, at, deployment, plan, said, late, await fleet.each(used, change))


async def _verify(
    hosts: Hosts, ready: _Ready, journals: Mapping[str, Journal], before: Mapping[str, Facts], needs: Mapping[str, Needs]
) -> list[str]:
    """Return the warnings that remain once all is set up. Raises `EnvironmentFault` if a path is not that of the plan. Otherwise its queues
    and filters are new again, so that the questions leave no trace."""
    if tuple(ready.machines) not in _warned:
        now = await fleet.facts_of(hosts, ready.machines, before)
        _warned[tuple(ready.machines)] = frozenset(lines(check(hosts, now, {}), "warning"))
    still = _warned[tuple(ready.machines)]
    router, _ = hosts.router
    asked = questions(ready.plan, ready.deployment, ready.late[router].p99_us)
    asking = {each.machine: ready.machines[each.machine] for each in asked}

    async def ask(machine: Machine) -> list[int]:
        return await fleet.answers(machine, ready.at, [each for each in asked if each.machine == machine.name])

    async def renew(machine: Machine) -> None:
        await journals[machine.name].make(ready.deployment.parts[machine.name].anew)

    if wrong := problems(asked, await fleet.each(asking, ask)):
        raise EnvironmentFault("\n".join(wrong))
    await fleet.each(ready.machines, renew)
    gone = set(lines(check(hosts, before, {}), "warning")) - still
    return [line for line in lines(check(hosts, before, needs), "warning") if line not in gone]


async def _conducted(hosts: Hosts, ready: _Ready, times: Times) -> dict[str, bool]:
    """Return for each agent: true if its timers came before other work. Raises `MachineFault` with the message of an agent that fails."""
    router, _ = hosts.router
    queues = {name for name, _ in ready.deployment.queues.values()}
    processes = await fleet.each(ready.machines, lambda machine: machine.start([ready.agent, "run", ready.at]))
    agents = [
        Agent(name, process, name == router or name in queues, ready.offsets[name].offset_ns, name == router)
        for name, process in processes.items()
    ]
    try:
        await conduct(agents, times)
    except MachineFault as fault:
        raise await fleet.explained(ready.machines[fault.machine], fault, ready.at) from None
    return {agent.machine: agent.prompt for agent in agents}
