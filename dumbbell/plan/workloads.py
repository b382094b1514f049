"""Makes the workloads of a plan: groups of flows, and each flow with its name, times and ports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from dumbbell.plan.addresses import Listeners
from dumbbell.plan.addresses import ports as port_numbers
from dumbbell.plan.background import KINDS
from dumbbell.plan.hosts import Hosts
from dumbbell.plan.ids import Ids
from dumbbell.plan.model import Connection, Direction, HostSettings, Side, Tcp, Workload
from dumbbell.plan.parameters import Parameter
from dumbbell.plan.paths import Paths
from dumbbell.plan.provenance import TCP, Origin
from dumbbell.plan.schedule import start_ns
from dumbbell.scenario import Cc, Flow, Settings, flow_names
from dumbbell.scenario.background import Background
from dumbbell.scenario.discipline import number

_ENDS: Mapping[Direction, tuple[Side, Side]] = {"forward": ("left", "right"), "reverse": ("right", "left")}
"""The sides that data of a direction come from and go to."""


class ControlFacts(Protocol):
    """An engine's facts about a congestion control."""

    @property
    def needs_ecn(self) -> bool:
        """It works on marks."""

    @property
    def wants_sce(self) -> bool:
        """It answers to SCE marks."""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Its parameters by name."""


class StackFacts(Protocol):
    """An engine's facts about a stack."""

    @property
    def buffer_factor(self) -> int:
        """Its factor on the size of a socket buffer that an application asks for."""


class Table(Protocol):
    """The facts about an engine that defaults depend on."""

    @property
    def cc(self) -> Mapping[str, ControlFacts]:
        """Congestion controls by name."""

    @property
    def stack(self) -> Mapping[str, StackFacts]:
        """Stacks by name."""

    @property
    def listeners(self) -> Listeners:
        """How connections get their ports."""


_BUFFER_FACTOR = 2
"""For unknown stacks; such a run will be refused."""


class Workloads:
    """The workloads of a run, in the order in which they are written, TCP before UDP."""

    def __init__(self, settings: Settings, table: Table, paths: Paths, hosts: Hosts) -> None:
        self.workloads: list[Workload] = []
        self.origins: list[Origin] = []
        self._settings, self._table, self._paths, self._hosts = settings, table, paths, hosts
        self._ids = Ids()
        self._connections = 0
        for i, (flow, names) in enumerate(zip(settings.flows, flow_names(settings.flows), strict=True)):
            self.workloads.append(self._tcp(i, flow, names))
            self.origins.append(Origin(("flows", i), TCP))
        names_taken = Ids()
        for i, (traffic, name) in enumerate(zip(settings.background, _names(settings.background), strict=True)):
            for direction in _directions(traffic):
                taken = names_taken.take(f"{name}-reverse" if traffic.direction == "both" and direction == "reverse" else name)
                self.workloads.append(self._beside(traffic, taken, direction))
                self.origins.append(Origin(("background", i), KINDS[traffic.kind].words))

    def _tcp(self, i: int, flow: Flow, names: list[str]) -> Tcp:
        ends = _ENDS[flow.direction]
        source, target = (
            self._hosts.index(name, side, ("flows", i, key))
            for name, side, key in zip((flow.src, flow.dst), ends, ("src", "dst"), strict=True)
        )
        ecn, sce_echo = _marks(flow, self._table)
        return Tcp(
            id=self._ids.take(flow.name or flow.cc.kind),
            path=self._path(source, target, flow),
            source=source,
            target=target,
            direction=flow.direction,
            cc=_control(flow.cc, self._table),
            stack=flow.stack.base,
            options=flow.stack.options,
            host=_host(flow, self._table),
            ecn=ecn,
            sce_echo=sce_echo,
            transfer_bytes=number(flow.bytes),
            first_write_bytes=number(flow.first_write),
            connections=tuple(self._connection(flow, position, name) for position, name in enumerate(names)),
        )

    def _path(self, source: int, target: int, flow: Flow | None = None) -> int:
        left, right = (source, target) if self._hosts.hosts[source].side == "left" else (target, source)
        return self._paths.of(left, right, flow)

    def _connection(self, flow: Flow, position: int, name: str) -> Connection:
        start = start_ns(flow.start, position, self._settings.seed, name)
        stop = None if flow.duration is None else start + int(flow.duration)
        if stop is not None and stop >= self._settings.duration:
            stop = None
        return Connection(name, start, stop, self._ports(flow.direction))

    def _beside(self, traffic: Background, name: str, direction: Direction) -> Workload:
        source, target = (self._hosts.index(None, side) for side in _ENDS[direction])
        start, end = int(traffic.start), int(self._settings.duration)
        stop = end if traffic.duration is None else min(start + int(traffic.duration), end)
        path = self._path(source, target)
        place = {"id": self._ids.take(name), "path": path, "source": source, "target": target, "direction": direction}
        return KINDS[traffic.kind].make(traffic, place, Connection(name, start, stop, self._ports(direction)))

    def _ports(self, direction: Direction) -> tuple[int, int]:
        index = self._connections
        self._connections += 1
        return port_numbers(self._table.listeners, index, direction)


def _control(cc: Cc, table: Table) -> dict[str, Any]:
    """A congestion control with the parameters that are given: what the others are depends on the stack, as its own options do.

    Those that the table does not know are left for it to refuse.
    """
    facts = table.cc.get(cc.kind)
    known = facts.parameters if facts else {}
    return {"kind": cc.kind, **{name: known[name].read(value) if name in known else value for name, value in cc.parameters.items()}}


def _marks(flow: Flow, table: Table) -> tuple[bool, bool]:
    """Whether ECN is negotiated and SCE echoed."""
    cc = table.cc.get(flow.cc.kind)
    wants_sce = cc is not None and cc.wants_sce
    sce_echo = wants_sce and flow.ecn is not False if flow.sce_echo is None else flow.sce_echo
    needs_ecn = cc is not None and (cc.needs_ecn or wants_sce)
    return needs_ecn or sce_echo if flow.ecn is None else flow.ecn, sce_echo


def _host(flow: Flow, table: Table) -> HostSettings:
    host, stack = flow.host, table.stack.get(flow.stack.base)
    factor = stack.buffer_factor if stack else _BUFFER_FACTOR
    return HostSettings(
        tso=host.offload != "none",
        rmem=tuple(map(int, host.rmem)),
        rcvbuf=None if host.rcvbuf is None else factor * host.rcvbuf,
        wmem=tuple(map(int, host.wmem)),
        sndbuf=None if host.sndbuf is None else factor * host.sndbuf,
        cached_ssthresh=number(host.cached_ssthresh),
        gso=host.offload == "on",
        sysctls={key: str(value) for key, value in host.sysctls.items()},
    )


def _names(background: Sequence[Background]) -> list[str]:
    """The name of each entry: its own or its kind, numbered where several share one."""
    bases = [traffic.name or traffic.kind for traffic in background]
    totals, given = Counter(bases), Counter[str]()
    names = []
    for base in bases:
        given[base] += 1
        names.append(base if totals[base] == 1 else f"{base}-{given[base]}")
    return names


def _directions(traffic: Background) -> tuple[Direction, ...]:
    return ("forward", "reverse") if traffic.direction == "both" else (traffic.direction,)
