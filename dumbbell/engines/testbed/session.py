"""A run by agents in real time: the controller's messages to them, and their times (agent/realtime.c has the other side)."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from dumbbell.engines.testbed.transport.base import MachineFault, Process

_SETUP_S = 60.0
"""Most time to set up a machine."""
_LATE_S = 10.0
"""Most time that the end of a run may be late, and that the agents may take to write their results."""
_HEARTBEAT_S = 5.0
_LINE_BYTES = 200
"""Bytes of an agent's output that are quoted."""


@dataclass
class Agent:
    """An agent that runs on a machine."""

    machine: str
    process: Process
    has_ports: bool
    """It has queues that are to become empty; those of hosts do so first."""
    offset_ns: int = 0
    """The machine's clock less the controller's."""
    is_router: bool = True
    """Or all hosts and the router in one."""
    prompt: bool = False
    """Its timers come before other work (SCHED_FIFO)."""
    heard: list[str] = field(default_factory=list)

    async def tell(self, line: str) -> None:
        """Send a message to the agent, if it still listens. An error is reported when the answer is waited for."""
        with contextlib.suppress(MachineFault):
            await self.process.write(f"{line}\n".encode())

    async def look_again(self, within_s: float) -> None:
        """Ask it again to look if its queues are empty: packets from hosts are in its queues by now. Raises as `hear`."""
        await self.hear("empty", within_s)
        self.heard.remove("empty")
        await self.tell("look")

    async def hear(self, word: str, within_s: float) -> None:
        """Waits for a word. Raises `MachineFault` if the agent ends or is silent for too long."""
        deadline = time.monotonic() + within_s
        while word not in self.heard:
            if (line := await self.process.line(max(0.0, deadline - time.monotonic()))) is None:
                said = (await self.process.wait(_LATE_S)).said
                raise MachineFault(self.machine, f"the agent ended before it was {word}: {said}")
            self.heard.append(line.strip()[:_LINE_BYTES])


@dataclass(frozen=True)
class Times:
    """Times of a run, s."""

    duration_s: float
    drain_s: float
    """Most time for the queues to become empty after it."""
    lead_s: float
    """Time from when all machines are ready to time 0: longer than it takes to tell them."""


async def conduct(agents: Sequence[Agent], times: Times) -> None:
    """Starts, waits for and ends a run of agents that have just been started.

    Raises `MachineFault` if one of them fails; the others notice that nobody listens, and end as well.
    """
    for agent in agents:
        await agent.hear("armed", _SETUP_S)
        agent.prompt = "prompt" in agent.heard
    zero_ns = time.time_ns() + round(times.lead_s * 1e9)
    for agent in agents:
        await agent.tell(f"epoch {zero_ns + agent.offset_ns}")
    heartbeat = asyncio.create_task(_keep_alive(agents))
    try:
        async with asyncio.TaskGroup() as group:
            for agent in agents:
                group.create_task(agent.hear("ended", times.lead_s + times.duration_s + _LATE_S))
        hosts = [agent for agent in agents if agent.has_ports and not agent.is_router]
        for agent in (*hosts, *(agent for agent in agents if agent.is_router)):
            # Packets that are left then are counted as queued.
            with contextlib.suppress(MachineFault):
                if agent.is_router and hosts:
                    await agent.look_again(times.drain_s)
                await agent.hear("empty", times.drain_s)
    except ExceptionGroup as several:
        raise several.exceptions[0] from None
    finally:
        heartbeat.cancel()
    for agent in agents:
        await agent.tell("finish")
    for agent in agents:
        # Its standard input stays open: the agent ends if this process does, because that closes the input.
        await agent.hear("done", _LATE_S)


async def _keep_alive(agents: Sequence[Agent]) -> None:
    while True:
        await asyncio.sleep(_HEARTBEAT_S)
        for agent in agents:
            await agent.tell(".")
