"""Makes the workloads of a plan: groups of flows, and each flow with its name, times and ports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol

from dumbbell.catalogue import Parameter
from dumbbell.documents.problems import Location
from dumbbell.plan.addresses import Listeners, coming_ports
from dumbbell.plan.addresses import ports as port_numbers
from dumbbell.plan.hosts import Hosts
from dumbbell.plan.ids import Ids
from dumbbell.plan.kept import Kept
from dumbbell.plan.model import Connection, Direction, HostSettings, Side, Tcp, Traffic, Workload
from dumbbell.plan.parameters import read
from dumbbell.plan.paths import Paths
from dumbbell.plan.provenance import OVER_TCP, TCP, Origin, Words
from dumbbell.plan.schedule import start_ns
from dumbbell.scenario import Cc, Connections, Duration, Flow, Host, Settings, Start, flow_names, ready_made
from dumbbell.scenario.discipline import number
from dumbbell.scenario.generated.kinds import Background
from dumbbell.scenario.passing import shaped_bps

_ENDS: Mapping[Direction, tuple[Side, Side]] = {"forward": ("left", "right"), "reverse": ("right", "left")}
"""The sides that data of a direction come from and go to."""


class ControlFacts(Protocol):
    """An engine's facts about a congestion control."""

    @property
    def needs_ecn(self) -> bool:
        """It works on marks."""

    @property
    def needs_accecn(self) -> bool:
        """It works on the number of marks."""

    @property
    def wants_sce(self) -> bool:
        """It answers to SCE marks."""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Its parameters by name."""


class StackFacts(Protocol):
    """An engine's facts about a stack."""

    @property
    def cc(self) -> Collection[str] | None:
        """The congestion controls that run on it, or None if all do."""

    @property
    def buffer_factor(self) -> int:
        """Its factor on the size of a socket buffer that an application asks for."""

    @property
    def has_own_buffers(self) -> bool:
        """True if it is a kernel's, which has sizes of buffers by itself."""


class EngineFacts(Protocol):
    """The facts about an engine that defaults depend on."""

    @property
    def cc(self) -> Mapping[str, ControlFacts]:
        """Congestion controls by name."""

    @property
    def stack(self) -> Mapping[str, StackFacts]:
        """Stacks by name."""

    @property
    def stands_for(self) -> Mapping[str, str]:
        """Other names of stacks, with the stacks."""

    @property
    def listeners(self) -> Listeners:
        """Return how connections get their ports."""


_BUFFER_FACTOR = 2
"""Defaults for unknown stacks. The engine's check will report the unknown stack."""


class Workloads:
    """The workloads of a run, in the order in which they are written, bulk flows first."""

    def __init__(self, settings: Settings, table: EngineFacts, paths: Paths, hosts: Hosts, kept: Kept) -> None:
        """`kept`: of plans for the same table."""
        self.workloads: list[Workload] = []
        self.origins: list[Origin] = []
        self._settings, self._table, self._paths, self._hosts, self._kept = settings, table, paths, hosts, kept
        self._ids = Ids()
        self._connections = self._making = 0
        named = kept.get("names", None, (settings.flows,), lambda: flow_names(settings.flows))
        for i, (flow, names) in enumerate(zip(settings.flows, named, strict=True)):
            self.workloads.append(self._tcp(i, flow, names))
            by_program: Words = {} if flow.program is None else {"application": ("program",)}
            self.origins.append(Origin(("flows", i), {**TCP, **by_program}))
        if not settings.background:
            return
        self._names = {"tcp": Ids(name for names in named for name in names), "udp": Ids()}
        for i, (traffic, name) in enumerate(zip(settings.background, _names(settings.background), strict=True)):
            for direction in _directions(traffic):
                wanted = f"{name}-reverse" if traffic.direction == "both" and direction == "reverse" else name
                self.workloads.append(self._traffic(i, traffic, wanted, direction))
                common = OVER_TCP if isinstance(traffic, Connections) else {}
                self.origins.append(Origin(("background", i), {**common, **traffic.words}))

    def _tcp(self, i: int, flow: Flow, names: list[str]) -> Tcp:
        workload, first = self._ids.take(flow.name or flow.program or flow.cc.kind), self._connections
        program = None if flow.program is None else ready_made.of(flow.program, self._settings.programs)
        ends = self._ends(("flows", i), flow, flow.direction)

        def make() -> Tcp:
            return self._over_tcp(
                flow,
                ends,
                workload,
                flow.direction,
                transfer_bytes=number(flow.bytes),
                first_write_bytes=number(flow.first_write),
                opener=flow.opener if program is None else "from" if program.sends == "client" else "to",
                application=flow.made_by,
                program=program,
                arguments={} if program is None else ready_made.arguments_of(program, flow.arguments),
                connections=self._started(flow.start, flow.duration, names, flow.direction),
            )

        times = self._settings.seed if flow.start.jitter else None, self._settings.duration if flow.duration is not None else None
        parts = (names, workload, ends, first, times, self._settings.path.mtu, program)
        made = self._kept.get(("flows", i), flow, parts, make)
        self._connections = first + len(names)
        return made

    def _ends(self, location: Location, written: Flow | Background, direction: Direction) -> tuple[int, int, int]:
        """Source, target and path of connections that are written at `location`."""
        assert isinstance(written, Connections)
        from_side, to_side = _ENDS[direction]
        source = self._hosts.index(written.src, from_side, (*location, "src"))
        target = self._hosts.index(written.dst, to_side, (*location, "dst"))
        rtt = written.rtts[0] if len(written.rtts) == 1 else None
        return source, target, self._path(source, target, written.path, rtt, written.has_own_rtts, written.host.gro)

    def _over_tcp(self, written: Connections, ends: tuple[int, int, int], workload: str, direction: Direction, **particular: Any) -> Tcp:
        """Return the settings that connections share. `ends` are source, target and path."""
        source, target, path = ends
        ecn, sce_echo, accecn, ect = _marks(written, self._table)
        return Tcp(
            id=workload,
            path=path,
            source=source,
            target=target,
            direction=direction,
            cc=_control(written.cc, self._table),
            stack=_stack(written, self._table),
            options=written.stack.options,
            host=_host(written, self._table),
            ecn=ecn,
            sce_echo=sce_echo,
            ect=ect,
            accecn=accecn,
            sack=written.sack,
            timestamps=written.timestamps,
            window_scaling=written.window_scaling,
            dscp=written.dscp,
            gro=written.host.gro is not None,
            segment_bytes=written.segment_bytes(self._settings.path.mtu),
            **particular,
        )

    def _path(
        self, source: int, target: int, name: str | None, rtt: Duration | None = None, own: bool = False, gro: Duration | None = None
    ) -> int:
        left, right = (source, target) if self._hosts.hosts[source].side == "left" else (target, source)
        return self._paths.of(left, right, name, rtt, own, gro)

    def _started(
        self, start: Start, duration: Duration | None, names: Sequence[str], direction: Direction, each: int = 1
    ) -> tuple[Connection, ...]:
        """Connections of these names, of which `each` start together."""
        times = _times(self._settings, start, duration, names, each)
        return tuple(Connection(name, *from_to, self._ports(direction)) for name, from_to in zip(names, times, strict=True))

    def _traffic(self, i: int, traffic: Background, wanted: str, direction: Direction) -> Traffic:
        """An entry of `background` in a direction; `wanted` is its name, unless another has that."""
        over_tcp, starts = isinstance(traffic, Connections), traffic.starts
        name = self._names["tcp" if over_tcp else "udp"].take(wanted)
        workload, end = self._ids.take(name), int(self._settings.duration)
        first = int(starts[0].first if isinstance(starts, tuple) else starts)
        stop = end if traffic.duration is None else min(first + int(traffic.duration), end)
        parameters = traffic.planned_at(shaped_bps(self._settings, traffic.path, direction))
        listed: tuple[Connection, ...] = ()
        if not isinstance(starts, tuple):
            parameters |= {"start_ns": first, "stop_ns": stop, **coming_ports(self._table.listeners, self._making, direction)}
            self._making += 1
        elif over_tcp:
            each = traffic.connections_each
            count = starts[1] * each
            names = [name] if count == 1 else [self._names["tcp"].take(f"{name}-{n}") for n in range(1, count + 1)]
            listed = self._started(starts[0], traffic.duration, names, direction, each)
        else:
            # ICMP has no ports, and hashes of flows take them for 0.
            listed = (Connection(name, first, stop, (0, 0) if traffic.protocol == "icmp" else self._ports(direction)),)
        tcp = None
        if isinstance(traffic, Connections):
            common = {"transfer_bytes": None, "first_write_bytes": None, "opener": traffic.opener}
            ends = self._ends(("background", i), traffic, direction)
            tcp = self._over_tcp(traffic, ends, workload, direction, connections=listed, **common)
            if len(traffic.rtts) > 1:
                parameters["paths"] = [self._path(tcp.source, tcp.target, traffic.path, rtt, gro=traffic.host.gro) for rtt in traffic.rtts]
        source, target = (tcp.source, tcp.target) if tcp else (self._hosts.index(None, side) for side in _ENDS[direction])
        return Traffic(
            id=workload,
            path=tcp.path if tcp else self._path(source, target, traffic.path),
            source=source,
            target=target,
            direction=direction,
            named=traffic.kind,
            tcp=tcp,
            streams=() if tcp else listed,
            parameters=parameters,
            packets=traffic.packets(stop - first),
        )

    def _ports(self, direction: Direction) -> tuple[int, int]:
        index = self._connections
        self._connections += 1
        return port_numbers(self._table.listeners, index, direction)


def redrawn(workload: Workload, written: Flow | Background, settings: Settings) -> Workload:
    """A workload in a run that differs in nothing but the seed: its connections with the starts that are drawn of that."""
    if (over := workload.over) is None:
        return workload
    if isinstance(written, Flow):
        start, each = written.start, 1
    elif isinstance(starts := written.starts, tuple):
        start, each = starts[0], written.connections_each
    else:
        return workload
    if not start.jitter:
        return workload
    times = _times(settings, start, written.duration, [connection.name for connection in over.connections], each)
    connections = tuple(Connection(c.name, *from_to, c.ports) for c, from_to in zip(over.connections, times, strict=True))
    changed = replace(over, connections=connections)
    return replace(workload, tcp=changed) if isinstance(workload, Traffic) else changed


def _times(
    settings: Settings, start: Start, duration: Duration | None, names: Sequence[str], each: int
) -> Iterator[tuple[int, int | None]]:
    """Return start and stop of the connections of these names. Each `each` of them start together: with the first of them."""
    for n in range(len(names)):
        begin = start_ns(start, n // each, settings.seed, names[n - n % each])
        stop = None if duration is None else begin + int(duration)
        yield begin, None if stop is None or stop >= settings.duration else stop


def _control(cc: Cc, table: EngineFacts) -> dict[str, Any]:
    """Return a congestion control with the given parameters. The other parameters depend on the stack, and so do its own options.

    Parameters that the table does not know stay, so that the engine reports them.
    """
    if cc.library is not None:
        return {"kind": cc.kind, "library": cc.sha256, **cc.parameters}
    if cc.in_kernel is not None:
        form, path = cc.in_kernel
        return {"kind": cc.kind, form: cc.sha256, "path": path}
    if cc.function is not None:
        return {"kind": cc.kind, "function": cc.function}
    facts = table.cc.get(cc.kind)
    known = facts.parameters if facts else {}
    return {"kind": cc.kind, **{name: read(known[name], value) if name in known else value for name, value in cc.parameters.items()}}


def _stack(flow: Connections, table: EngineFacts) -> str:
    """Return the engine's name of the stack that a scenario names. If it names none and the usual one does not run the cc, the first one
    that does: AccECN, which prague needs, came after Linux 6.12."""
    base, kind = table.stands_for.get(flow.stack.base, flow.stack.base), flow.cc.kind
    if "stack" in flow.model_fields_set or base not in table.stack:
        return base
    able = [name for name, stack in table.stack.items() if stack.cc is None or kind in stack.cc]
    return base if base in able or not able else able[0]


_Ect = Literal[0, 1]
_Option = Literal["ee1b", "ee0b", "off"]


def _marks(flow: Connections, table: EngineFacts) -> tuple[bool, bool, _Option | None, _Ect]:
    """Return two flags, ECN is negotiated and SCE is echoed; AccECN's option, or None without AccECN; the codepoint of packets."""
    cc = table.cc.get(flow.cc.kind)
    wants_sce = cc is not None and cc.wants_sce
    sce_echo = wants_sce and flow.ecn is not False if flow.sce_echo is None else flow.sce_echo
    needs_ecn = cc is not None and (cc.needs_ecn or wants_sce)
    counts = cc is not None and cc.needs_accecn
    ecn = needs_ecn or sce_echo or flow.ect is not None if flow.ecn is None else bool(flow.ecn)
    accurate = flow.ecn == "accecn" or (flow.ecn is None and (counts or flow.accecn_option is not None))
    ect: _Ect = flow.ect if flow.ect is not None else 1 if counts and accurate else 0
    return ecn or accurate, sce_echo, (flow.accecn_option or "ee1b") if accurate else None, ect


def _host(flow: Connections, table: EngineFacts) -> HostSettings:
    host, stack = flow.host, table.stack.get(_stack(flow, table))
    factor = stack.buffer_factor if stack else _BUFFER_FACTOR
    return HostSettings(
        tso=host.offload != "none",
        rmem=_buffer(host, "rmem", stack),
        sender_rmem=() if host.sender_rmem is None else _buffer(host, "sender_rmem", stack),
        rcvbuf=None if host.rcvbuf is None else factor * host.rcvbuf,
        wmem=_buffer(host, "wmem", stack),
        sndbuf=None if host.sndbuf is None else factor * host.sndbuf,
        cached_ssthresh=number(host.cached_ssthresh),
        gso=host.offload == "on",
        reads_bps=number(host.reads),
        nodelay=host.nodelay,
        max_pacing_bps=number(host.max_pacing_rate),
        sysctls={key: str(value) for key, value in host.sysctls.items()},
    )


def _buffer(host: Host, key: str, stack: StackFacts | None) -> tuple[int, ...]:
    """Return the three sizes of a sysctl for buffers; none if a kernel is to have its own."""
    written = getattr(host, key)
    if written == "kernel":
        if stack is not None and stack.has_own_buffers:
            return ()
        written = Host.model_fields[key.removeprefix("sender_")].default
    return tuple(map(int, written))


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
