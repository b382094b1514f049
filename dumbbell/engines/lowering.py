"""What all engines make of a scenario first: every flow by itself, with its times, its hosts and the ports it passes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from dumbbell.engines.capabilities import Capabilities
from dumbbell.scenario import (
    DelayStage,
    Flow,
    Limit,
    Outage,
    QueueStage,
    RateStep,
    Red,
    ResolvedScenario,
    Udp,
    flow_names,
    stages,
)
from dumbbell.scenario.check import udp_names

_LEFT, _RIGHT = 1, 2
"""The hosts of flows that name none; those that are named count on."""


@dataclass(frozen=True)
class RedSizes:
    """RED's parameters as tc takes them."""

    limit: int
    """Bytes, as the two that follow."""
    min: int
    max: int
    burst: int
    """Packets."""
    probability: str


@dataclass(frozen=True)
class PlannedPort:
    """A port and what its limits are relative to."""

    stage: DelayStage | QueueStage
    base_rtt_ns: int
    path_rate_bps: int

    @property
    def name(self) -> str:
        """Unique; entity `port/NAME` of the results."""
        return str(self.stage.name)

    def packets(self, limit: Limit | None) -> int | None:
        """A limit of the port in packets."""
        rate_bps = self.stage.rate_bps if isinstance(self.stage, QueueStage) else self.stage.rate
        return None if limit is None else limit.packets(int(rate_bps or self.path_rate_bps), self.base_rtt_ns)

    def bytes(self, limit: Limit) -> int:
        """A limit of the port in bytes."""
        rate_bps = self.stage.rate_bps if isinstance(self.stage, QueueStage) else self.stage.rate
        return limit.bytes(int(rate_bps or self.path_rate_bps), self.base_rtt_ns)

    def red(self, red: Red) -> RedSizes:
        """What RED's parameters come to at the port."""
        limit, low, high = (self.bytes(value) for value in (red.limit, red.min, red.max))
        burst = (2 * low + high) // (3 * int(red.avpkt)) if red.burst is None else int(red.burst)
        return RedSizes(limit, low, high, max(1, burst), f"{red.probability:.6f}")


@dataclass(frozen=True)
class PlannedFlow:
    """One TCP flow."""

    name: str
    group: Flow
    """Where it is written."""
    forward: tuple[str, ...]
    """Ports of the data, in order."""
    reverse: tuple[str, ...]
    """Ports of the ACKs, in order."""
    start_ns: int
    stop_ns: int | None
    """None is the end of the run."""
    ecn: bool
    sce_echo: bool
    src: int
    """Sending host."""
    dst: int


@dataclass(frozen=True)
class PlannedUdp:
    """One stream of datagrams."""

    name: str
    traffic: Udp
    forward: tuple[str, ...]
    start_ns: int
    stop_ns: int
    src: int
    dst: int


@dataclass(frozen=True)
class PlannedImpairment:
    """Something that befalls a port."""

    port: str
    what: Outage | RateStep


@dataclass(frozen=True)
class Plan:
    """A whole run."""

    ports: dict[str, PlannedPort] = field(default_factory=dict)
    flows: list[PlannedFlow] = field(default_factory=list)
    udp: list[PlannedUdp] = field(default_factory=list)
    impairments: list[PlannedImpairment] = field(default_factory=list)


def plan(resolved: ResolvedScenario, table: Capabilities) -> Plan:
    """Every flow by itself; `table` says what a congestion control needs."""
    settings = resolved.settings
    found = Plan()
    hosts: dict[str, int] = {}

    def ways(group: Flow, direction: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        way = stages(settings.path, settings.flows, group)
        for stage in way.forward + way.reverse:
            found.ports.setdefault(str(stage.name), PlannedPort(stage, way.base_rtt_ns, settings.path_rate_bps))
        forward, reverse = (tuple(str(stage.name) for stage in listed) for listed in (way.forward, way.reverse))
        return (forward, reverse) if direction == "forward" else (reverse, forward)

    for group, names in zip(settings.flows, flow_names(settings.flows), strict=True):
        forward, reverse = ways(group, group.direction)
        ends = (_LEFT, _RIGHT) if group.direction == "forward" else (_RIGHT, _LEFT)
        src, dst = (
            default if host is None else hosts.setdefault(host, _RIGHT + 1 + len(hosts))
            for host, default in zip((group.src, group.dst), ends, strict=True)
        )
        ecn, sce_echo = _marks(group, table)
        for i, name in enumerate(names):
            start = group.start.first + i * group.start.every + _jitter_ns(settings.seed, name, group.start.jitter)
            stop = None if group.duration is None else start + group.duration
            if stop is not None and stop >= settings.duration:
                stop = None
            found.flows.append(PlannedFlow(name, group, forward, reverse, start, stop, ecn, sce_echo, src, dst))
    plain = Flow(cc="cubic")
    for traffic, streams in zip(settings.background, udp_names(settings.background), strict=True):
        stop = int(settings.duration) if traffic.duration is None else min(traffic.start + traffic.duration, int(settings.duration))
        for name, direction in streams:
            src, dst = (_LEFT, _RIGHT) if direction == "forward" else (_RIGHT, _LEFT)
            found.udp.append(PlannedUdp(name, traffic, ways(plain, direction)[0], int(traffic.start), stop, src, dst))
    for impairment in settings.path.impairments:
        queues = [name for name, port in found.ports.items() if isinstance(port.stage, QueueStage) and not name.endswith("-reverse")]
        name = impairment.stage or queues[0]
        if impairment.direction != "reverse":
            found.impairments.append(PlannedImpairment(name, impairment))
        if impairment.direction != "forward":
            found.impairments.append(PlannedImpairment(name + "-reverse", impairment))
    return found


def _marks(flow: Flow, table: Capabilities) -> tuple[bool, bool]:
    """Whether ECN is negotiated and SCE echoed."""
    cc = table.cc.get(flow.cc)
    wants_sce = cc is not None and cc.wants_sce
    sce_echo = wants_sce and flow.ecn is not False if flow.sce_echo is None else flow.sce_echo
    needs_ecn = cc is not None and (cc.needs_ecn or wants_sce)
    return needs_ecn or sce_echo if flow.ecn is None else flow.ecn, sce_echo


def _jitter_ns(seed: int, flow: str, most_ns: int) -> int:
    """Uniform in 0..most_ns, a stream of its own per flow, so that another flow does not shift it; the same for every engine."""
    digest = hashlib.sha256(f"{seed}/flow/{flow}/start".encode()).digest()
    return int.from_bytes(digest[:16], "big") % (most_ns + 1)
