"""The plan: the one contract between a scenario and an engine.

Every default is filled in. Times are ns, rates bit/s, sizes bytes or packets, all integers. Entries of a list are referred to by their
position. An `id` says which entry is meant (results name it, random streams are derived from it), a `name` is for display, a direction is
a field: nothing is ever read out of a name.

`plain()` is the JSON that the simulator is given, that the kernel's commands are made from, and that run.json keeps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dumbbell.plan.changes import Change
from dumbbell.scenario.generated.kinds import KINDS
from dumbbell.scenario.program import GivenFile, Program, Scalar
from dumbbell.scenario.units import ETHERNET_BYTES, ETHERNET_MTU

FORMAT = 1
"""Version of the JSON format."""
_HEADER_BYTES = 54
"""Ethernet, IP and TCP without options."""
_TIMESTAMP_BYTES = 12
SEGMENT_BYTES = 1448
"""Payload of a full segment where the MTU is 1500."""

Side = Literal["left", "right"]
Direction = Literal["forward", "reverse"]
"""`forward` is from left to right."""
PartOfRtt = Literal["first-half", "second-half", "whole"]
Parameters = Mapping[str, Any]
"""A `kind` and its parameters."""


# --- the network -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Host:
    """A host: a source or destination of data."""

    id: str
    side: Side
    number: int
    """Number that queue disciplines which tell hosts apart hash. A host that is used on both sides is two entries with one number."""
    egress: int | None = None
    """The port that all packets of this host leave through, if the port is on the host itself: its TCP hears of drops there."""

    def plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"id": self.id, "side": self.side, "number": self.number, "egress": self.egress}


@dataclass(frozen=True, slots=True)
class Link:
    """A port that delays, behind a store-and-forward line if it has a rate."""

    id: str
    name: str
    direction: Direction
    delay_ns: int
    rate_bps: int | None
    """None is infinitely fast."""
    limit_packets: int | None
    """Most packets held; None is unlimited."""
    coalesce_ns: int | None = None
    """It is a network card: how long after the first packet its interrupt tells of all that came."""
    faults: Parameters | None = None
    """Faults: all that it does to packets besides delaying them."""
    own_rtt: PartOfRtt | None = None
    """The part that it adds of the RTT that a connection has of its own. Packets then leave by time, in whatever order they came."""

    def plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "kind": "link",
            "id": self.id,
            "name": self.name,
            "direction": self.direction,
            "delay_ns": self.delay_ns,
            "rate_bps": self.rate_bps,
            "limit_packets": self.limit_packets,
            **({"coalesce_ns": self.coalesce_ns} if self.coalesce_ns is not None else {}),
            **({} if self.own_rtt is None else {"own_rtt": self.own_rtt}),
            **({} if self.faults is None else {"faults": self.faults}),
        }


@dataclass(frozen=True, slots=True)
class Queue:
    """A port with a queue discipline behind a shaper, then a propagation delay."""

    id: str
    name: str
    direction: Direction
    qdisc: Parameters
    shaper: Parameters
    delay_ns: int

    @property
    def rate_bps(self) -> int | None:
        """The rate at the start; None if there is none."""
        rate: int | None = self.shaper.get("rate_bps", self.qdisc.get("rate_bps"))
        return rate

    def plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "kind": "queue",
            "id": self.id,
            "name": self.name,
            "direction": self.direction,
            "qdisc": self.qdisc,
            "shaper": self.shaper,
            "delay_ns": self.delay_ns,
        }


Port = Link | Queue


@dataclass(frozen=True, slots=True)
class Path:
    """Ports in order, in either direction."""

    id: str
    forward: tuple[int, ...]
    reverse: tuple[int, ...]
    base_rtt_ns: int
    """The RTT that `bdp` means."""
    rate_bps: int
    """The lowest rate among the ports that data pass."""

    def ways(self, direction: Direction) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The ports of data that go in a direction, and those of their ACKs."""
        return (self.forward, self.reverse) if direction == "forward" else (self.reverse, self.forward)

    def plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "id": self.id,
            "forward": list(self.forward),
            "reverse": list(self.reverse),
            "base_rtt_ns": self.base_rtt_ns,
            "rate_bps": self.rate_bps,
        }


# --- the traffic -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HostSettings:
    """Facts about the two hosts of a connection that are not TCP's."""

    tso: bool
    """TCP builds TSO segments."""
    rmem: tuple[int, ...]
    """Receive buffer: least, initial, most, bytes. Empty: those that the kernel has by itself, which only a kernel has."""
    rcvbuf: int | None
    """An explicit receive buffer, bytes, as the stack has it in the end: no auto-tuning."""
    wmem: tuple[int, ...]
    """Send buffer, likewise."""
    sndbuf: int | None
    """An explicit send buffer, likewise."""
    cached_ssthresh: int | None
    """ssthresh that the metrics cache remembers for the destination, packets."""
    sender_rmem: tuple[int, ...] = ()
    """Receive buffer of the end that sends the data, in the order of `rmem`; empty: that of `rmem`."""
    gso: bool = False
    """TSO segments travel through the network whole."""
    reads_bps: int | None = None
    """Rate at which the receiving application reads, bit/s; None: it reads all there is at once."""
    nodelay: bool = False
    """TCP_NODELAY."""
    max_pacing_bps: int | None = None
    """SO_MAX_PACING_RATE, bit/s; None is none."""
    sysctls: Mapping[str, str] = field(default_factory=dict)
    """Settings of a kernel's network."""

    def plain(self) -> dict[str, Any]:
        """Return plain data for JSON, with settings of the kernel only if they are set."""
        return {
            "tso": self.tso,
            "rmem": list(self.rmem),
            "rcvbuf": self.rcvbuf,
            "wmem": list(self.wmem),
            "sndbuf": self.sndbuf,
            "cached_ssthresh": self.cached_ssthresh,
            **({"sender_rmem": list(self.sender_rmem)} if self.sender_rmem else {}),
            **({"gso": True} if self.gso else {}),
            **({"nodelay": True} if self.nodelay else {}),
            **{key: value for key in ("reads_bps", "max_pacing_bps") if (value := getattr(self, key)) is not None},
            **({"sysctls": dict(self.sysctls)} if self.sysctls else {}),
        }


@dataclass(frozen=True, slots=True)
class Connection:
    """A TCP connection, or a stream of datagrams."""

    name: str
    """Unique; entity `flow/NAME`, `ping/NAME`, `udp/NAME` or `voip/NAME` of the results."""
    start_ns: int
    stop_ns: int | None
    """Time at which a sender is cut off; None is the end of the run."""
    ports: tuple[int, int]
    """Source and destination port of the data, see `addresses`."""

    def plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"name": self.name, "start_ns": self.start_ns, "stop_ns": self.stop_ns, "ports": list(self.ports)}


@dataclass(frozen=True, slots=True)
class Workload(ABC):
    """Flows that are alike."""

    id: str
    path: int
    source: int
    """The host that the data come from; `from` in JSON."""
    target: int
    """The host that they go to; `to` in JSON."""
    direction: Direction
    """Direction of the data along the path."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """`tcp` for bulk flows, else as a scenario has it."""

    @property
    @abstractmethod
    def over(self) -> Tcp | None:
        """Return the settings that its TCP connections share; None for datagrams."""

    @property
    def transport(self) -> Literal["tcp", "udp", "icmp"]:
        """The protocol."""
        return "tcp"

    @property
    @abstractmethod
    def flows(self) -> tuple[Connection, ...]:
        """The connections, or streams of datagrams, that exist from the start of the run."""

    @abstractmethod
    def most_packets(self, duration_ns: int) -> int | None:
        """Data packets that it sends in a run of this duration, retransmissions left out; None if only the network limits it."""

    @abstractmethod
    def plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""

    def place(self) -> dict[str, Any]:
        """The fields in JSON that all workloads share."""
        return {"id": self.id, "path": self.path, "from": self.source, "to": self.target, "direction": self.direction}


@dataclass(frozen=True, slots=True)
class Tcp(Workload):
    """Bulk flows, or the settings that the connections of a `Traffic` share. Wide because it has all settings of a connection."""

    cc: Parameters
    stack: str
    options: Mapping[str, Any]
    """Options of the stack that differ from its defaults."""
    host: HostSettings
    ecn: bool
    sce_echo: bool
    transfer_bytes: int | None
    """None is unlimited."""
    first_write_bytes: int | None
    connections: tuple[Connection, ...]
    opener: Literal["from", "to"] = "from"
    """The end that calls connect()."""
    segment_bytes: int = SEGMENT_BYTES
    """Payload of a full segment."""
    dscp: int = 0
    """Codepoint that both ends set."""
    gro: bool = False
    """Receiving hosts merge the packets that their network cards report at once."""
    application: str | None = None
    """A program that makes it; None is the engine itself."""
    program: Program | None = None
    """The program, if its commands are words with placeholders."""
    arguments: Mapping[str, Scalar] = field(default_factory=dict)
    """Values of the program's own placeholders."""
    sack: bool = True
    """True if both ends negotiate SACK."""
    timestamps: bool = True
    """True if both ends negotiate timestamps."""
    window_scaling: bool = True
    """True if both ends negotiate scaled windows."""
    ect: Literal[0, 1] = 0
    """Codepoint of ECN-capable packets: ECT(0) or ECT(1)."""
    accecn: Literal["ee1b", "ee0b", "off"] | None = None
    """AccECN with this option; None is the feedback of RFC 3168."""

    @property
    def kind(self) -> str:
        """Bulk flows, or `program` if a program makes them over another protocol."""
        return "tcp" if self.transport == "tcp" else "program"

    @property
    def transport(self) -> Literal["tcp", "udp", "icmp"]:
        """The protocol. What is over several counts as TCP."""
        if self.program is not None and self.program.transport in ("udp", "icmp"):
            return "udp" if self.program.transport == "udp" else "icmp"
        return "tcp"

    @property
    def over(self) -> Tcp:
        """Itself."""
        return self

    @property
    def flows(self) -> tuple[Connection, ...]:
        """The connections."""
        return self.connections

    @property
    def frame_bytes(self) -> int:
        """Length of a frame with a full segment."""
        return self.segment_bytes + _HEADER_BYTES + (_TIMESTAMP_BYTES if self.timestamps else 0)

    def most_packets(self, duration_ns: int) -> int | None:  # noqa: ARG002
        """Return the packets of sized transfers."""
        return None if self.transfer_bytes is None else len(self.connections) * (self.transfer_bytes // self.segment_bytes + 1)

    def plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"kind": "tcp", **self.common()}

    def common(self) -> dict[str, Any]:
        """Return JSON without the kind. Defaults are left out: ECT(0), TCP's options, the size of segments, DSCP, GRO, a program."""
        return {
            **self.place(),
            "opener": self.opener,
            "cc": self.cc,
            "stack": {"name": self.stack, "options": self.options},
            "host": self.host.plain(),
            "ecn": self.ecn,
            "sce_echo": self.sce_echo,
            **({"ect": self.ect} if self.ect else {}),
            **({"accecn": self.accecn} if self.accecn else {}),
            **({} if self.sack else {"sack": False}),
            **({} if self.timestamps else {"timestamps": False}),
            **({} if self.window_scaling else {"window_scaling": False}),
            **({"segment_bytes": self.segment_bytes} if self.segment_bytes != SEGMENT_BYTES else {}),
            **({"dscp": self.dscp} if self.dscp else {}),
            **({"gro": True} if self.gro else {}),
            **({} if self.application is None else {"application": self.application}),
            **({} if self.program is None else {"program": self.program.plain(), "arguments": dict(self.arguments)}),
            "transfer_bytes": self.transfer_bytes,
            "first_write_bytes": self.first_write_bytes,
            "connections": [connection.plain() for connection in self.connections],
        }


@dataclass(frozen=True, slots=True)
class Traffic(Workload):
    """Traffic that is not bulk; the kinds are those of `scenario.traffic`."""

    named: str
    """The kind."""
    tcp: Tcp | None
    """Settings that its TCP connections share, with a list of those that exist from the start; None for datagrams."""
    streams: tuple[Connection, ...]
    """Streams of datagrams."""
    parameters: Parameters
    """Parameters of its kind."""
    packets: int | None
    """Data packets that it sends, retransmissions left out; None if only the network limits it."""

    @property
    def kind(self) -> str:
        """Return the kind as a scenario has it."""
        return self.named

    @property
    def transport(self) -> Literal["tcp", "udp", "icmp"]:
        """The protocol."""
        return KINDS[self.named].protocol

    @property
    def feature(self) -> str:
        """The feature that an engine must have to run it."""
        return KINDS[self.named].feature

    @property
    def over(self) -> Tcp | None:
        """Return the settings that its TCP connections share."""
        return self.tcp

    @property
    def connections_each(self) -> int:
        """Connections that one application uses together; they follow each other."""
        return int(self.parameters.get("connections_each", 1))

    @property
    def flows(self) -> tuple[Connection, ...]:
        """The connections or streams."""
        return self.streams if self.tcp is None else self.tcp.connections

    def most_packets(self, duration_ns: int) -> int | None:  # noqa: ARG002
        """Return the number of packets that the scenario gives."""
        return self.packets

    def plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        if self.tcp is not None:
            return {"kind": self.named, "tcp": self.tcp.common(), **self.parameters}
        return {"kind": self.named, **self.place(), **self.parameters, "streams": [stream.plain() for stream in self.streams]}


def over_tcp(workloads: Iterable[tuple[int, Workload]]) -> Iterator[tuple[int, str, Tcp]]:
    """Yield the workloads that use TCP: position, prefix of the fields in the plan, and the settings that the connections share."""
    for i, workload in workloads:
        if (over := workload.over) is not None:
            yield i, "" if over is workload else "tcp.", over


# --- what is sampled ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Series:
    """Entities that get series, by their positions."""

    flows: tuple[int, ...]
    """Workloads of bulk flows: each gets its own."""
    groups: tuple[int, ...]
    """Workloads of bulk flows, or of connections that come and go: these get one together."""
    ports: tuple[int, ...]
    shares: tuple[int, ...]
    """Ports that count the bytes of each of those connections and groups."""
    state: tuple[str, ...] = ()
    """State variables of those connections and ports: names, or `control` and `queue` for all of senders and of queues."""
    events: tuple[str, ...] = ()
    """Kinds of events that are recorded of those connections."""

    def plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        chosen = {"flows": list(self.flows), "groups": list(self.groups), "ports": list(self.ports), "shares": list(self.shares)}
        # A plan without these has the text, and so the key, that it had before there were any.
        return chosen | {name: list(words) for name, words in (("state", self.state), ("events", self.events)) if words}


# --- the whole ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole run."""

    seed: int
    duration_ns: int
    sample_ns: int
    """Interval of the samples; 0: none."""
    capture: bool
    """Record every packet at both hosts."""
    captured_ports: tuple[tuple[int, ...], ...]
    """Record the packets that come out of these ports, those of each point in a capture of their own."""
    mtu_bytes: int
    """The largest IP packet that the ports carry."""
    hosts: tuple[Host, ...]
    ports: tuple[Port, ...]
    paths: tuple[Path, ...]
    workloads: tuple[Workload, ...]
    """Bulk flows before all others."""
    schedule: tuple[Change, ...]
    series: Series
    clock_s: int | None = None
    """Time of day at time 0, s since 1970; None: that of the engine."""
    modules: tuple[GivenFile, ...] = ()
    """Modules that the kernel loads."""

    @property
    def captures(self) -> bool:
        """True if packets are recorded anywhere."""
        return self.capture or bool(self.captured_ports)

    @property
    def frame_bytes(self) -> int:
        """The largest frame."""
        return self.mtu_bytes + ETHERNET_BYTES

    @property
    def tcp(self) -> Iterator[Tcp]:
        """The workloads of bulk flows."""
        return (workload for workload in self.workloads if isinstance(workload, Tcp))

    @property
    def connections(self) -> Iterator[tuple[Tcp, Connection]]:
        """Every bulk flow with its workload, in order."""
        return ((workload, connection) for workload in self.tcp for connection in workload.connections)

    @property
    def over_tcp(self) -> Iterator[tuple[int, str, Tcp]]:
        """See the function `over_tcp`."""
        return over_tcp(enumerate(self.workloads))

    @property
    def flows(self) -> Iterator[tuple[Workload, Connection]]:
        """Every connection and every stream of datagrams that exists from the start, with its workload, in order."""
        return ((workload, flow) for workload in self.workloads for flow in workload.flows)

    @property
    def links(self) -> set[str]:
        """The ids of the ports that only delay."""
        return {port.id for port in self.ports if isinstance(port, Link)}

    def plain(self, workloads: bool = True) -> dict[str, Any]:
        """Return plain data for JSON; without `workloads` these are an empty list."""
        return {
            "format": FORMAT,
            "seed": self.seed,
            "duration_ns": self.duration_ns,
            "sample_ns": self.sample_ns,
            "capture": self.capture,
            **({"captured_ports": [list(ports) for ports in self.captured_ports]} if self.captured_ports else {}),
            **({} if self.clock_s is None else {"clock_s": self.clock_s}),
            **({"modules": [{"name": each.name, "sha256": each.sha256} for each in self.modules]} if self.modules else {}),
            **({"mtu_bytes": self.mtu_bytes} if self.mtu_bytes != ETHERNET_MTU else {}),
            "hosts": [host.plain() for host in self.hosts],
            "ports": [port.plain() for port in self.ports],
            "paths": [path.plain() for path in self.paths],
            "workloads": [workload.plain() for workload in self.workloads] if workloads else [],
            "schedule": [change.plain() for change in self.schedule],
            "series": self.series.plain(),
        }
