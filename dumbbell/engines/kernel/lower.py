"""From a scenario to what the guest is told: network namespaces, devices, tc commands, flows.

    left hosts                         namespace net                                  right hosts
    lK eth0 --- lK > gl --- hl | p0 --- q0 | p1 --- q1 | x1 --- y1 | ... | rK --- eth0 rK

A host is a namespace for each set of TCP settings that differ (K counts them), on either side. Every port is a veth pair of its own
in `net`: the queue discipline is on pN, and whatever comes out of qN is handed (tc mirred) to the next port of its flow or to its
host. So any list of ports is a path. A port with a propagation delay has a second pair, xN and yN, with netem. What leaves a host is
routed once, to gl (from the right to gr): the IP layer takes a packet off its sender's account there, as any other machine would;
without that TCP small queues would count the packets in the bottleneck as the sender's own and hold back what follows.

- the shaper `link` (store and forward) is htb with next to no bucket, which takes a packet when the line is free, followed by netem
  with the same rate, which gives it out when its last bit has passed
- the stack's options are sysctls (reordering, sack_compression, tail_loss_probe) and route metrics (initial_cwnd, rto_min_ms)
- a flow that is stopped early is cut off by a filter on its host: its packets end there, as if it had been unplugged
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dumbbell.engines.kernel.capabilities import STACK_OPTIONS, capabilities
from dumbbell.engines.kernel.qdiscs import leaf, link_delay, queue_commands, rate_commands
from dumbbell.engines.lowering import Plan, PlannedFlow, PlannedImpairment, plan
from dumbbell.scenario import Outage, RateStep, ResolvedScenario

NET = "net"
"""The namespace of the ports."""
_FIRST_PORT = {"left": 10_000, "right": 30_000}
"""TCP and UDP ports of flow 0 on either side."""
_SUBNET = {"left": "10.1", "right": "10.2"}
_GATES = {"left": "gl", "right": "gr"}
"""Devices that packets from either side are routed to."""
_MAC = "02:00:00:00:00:01"
"""Of every host: without address resolution a host sends to its own, and so whoever gets it takes it."""
_PLENTY = "1000000"
"""Pages, where a limit of the kernel's on all TCP together must not matter."""
_NS_PER_S = 10**9


@dataclass
class Guest:
    """What a guest needs: files in its folder, and how to read what it leaves."""

    files: dict[str, str] = field(default_factory=dict)
    plan: Plan = field(default_factory=Plan)
    devices: dict[str, str] = field(default_factory=dict)
    """Port to the device with its queue discipline."""
    delay_devices: dict[str, str] = field(default_factory=dict)
    """Port to the device of its propagation delay, if it has one."""
    leaves: dict[str, str] = field(default_factory=dict)
    """Port to the handle of the qdisc that drops and marks."""
    captures: list[str] = field(default_factory=list)
    """Files with packets."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Commands and settings, for run.json."""


@dataclass(frozen=True)
class _Profile:
    """Settings of a host that belong to its namespace, not to a socket."""

    offload: str
    ecn: bool
    sysctls: tuple[tuple[str, str], ...]
    metrics: str
    """Route metrics."""


def lower(resolved: ResolvedScenario) -> Guest:
    """Everything that the guest needs for one run."""
    settings = resolved.settings
    planned = plan(resolved, capabilities())
    guest = Guest(plan=planned)
    profiles: dict[_Profile, int] = {}
    placed = [(flow, profiles.setdefault(_profile(flow), len(profiles))) for flow in planned.flows]
    if not profiles:
        raise AssertionError("a scenario has flows")
    for i, (name, port) in enumerate(planned.ports.items()):
        guest.devices[name] = f"p{i}"
        guest.leaves[name] = leaf(port)
        if link_delay(port):
            guest.delay_devices[name] = f"x{i}"
    lines = list(_namespaces(guest, profiles, placed))
    lines += _flow_lines(guest, placed)
    lines += _impairments(guest)
    guest.files["net.tc"] = "".join(f"{line}\n" for line in (*_qdisc_lines(guest), *_filter_lines(guest, placed)))
    guest.files["end.tc"] = "qdisc show\n"
    lines += [f"port {NET} {guest.devices[name]} {_major(guest.leaves[name])}" for name in planned.ports]
    lines += [f"delay {NET} {device} 1" for device in guest.delay_devices.values()]
    lines += [f"hop {device}" for device in _hops(guest)]
    if settings.captures:
        lines += [f"capture {side[0]}{k} {_capture(side, k)}" for k in profiles.values() for side in _GATES]
        guest.captures = [_capture(side, k) for k in profiles.values() for side in _GATES]
    lines += [f"sample {int(settings.sample)}", f"duration {int(settings.duration)}"]
    lines += [f"run {NET} - tc -batch net.tc", "traffic", f"run {NET} end.json tc -s -j -batch end.tc"]
    guest.files["script"] = "".join(f"{line}\n" for line in lines)
    guest.metadata = {
        "sysctls": {f"host {k}": dict(profile.sysctls) | {"net.ipv4.tcp_ecn": str(int(profile.ecn))} for profile, k in profiles.items()},
        "offload": {f"host {k}": profile.offload for profile, k in profiles.items()},
        "tc": guest.files["net.tc"].splitlines(),
        "later": [line for line in lines if line.startswith("at ")],
        "ports": guest.devices,
    }
    return guest


def _capture(side: str, k: int) -> str:
    return f"{side}.pcap" if k == 0 else f"{side}-{k}.pcap"


def description(guest: Guest) -> str:
    """All that the guest is told, for the run's key."""
    return json.dumps(guest.files, sort_keys=True)


# --- hosts ---------------------------------------------------------------------------------------------------------


def _profile(flow: PlannedFlow) -> _Profile:
    host, options = flow.group.host, flow.group.stack.options
    sysctls = {
        "net.ipv4.tcp_rmem": " ".join(str(int(size)) for size in host.rmem),
        "net.ipv4.tcp_wmem": " ".join(str(int(size)) for size in host.wmem),
    }
    if (reordering := options.get("reordering", STACK_OPTIONS["reordering"])) != STACK_OPTIONS["reordering"]:
        sysctls["net.ipv4.tcp_reordering"] = str(reordering)
    if not options.get("sack_compression", True):
        sysctls["net.ipv4.tcp_comp_sack_nr"] = "0"
    if not options.get("tail_loss_probe", True):
        sysctls["net.ipv4.tcp_early_retrans"] = "0"
    sysctls |= {key: str(value) for key, value in host.sysctls.items()}
    metrics = ""
    if "initial_cwnd" in options:
        metrics += f" initcwnd {options['initial_cwnd']}"
    if "rto_min_ms" in options:
        metrics += f" rto_min {options['rto_min_ms']}ms"
    return _Profile(host.offload, flow.ecn, tuple(sorted(sysctls.items())), metrics)


def _address(side: str, host: int) -> str:
    return f"{_SUBNET[side]}.{host >> 8}.{host & 255}"


def _other(side: str) -> str:
    return "right" if side == "left" else "left"


def _sides(flow: PlannedFlow) -> tuple[str, str]:
    """Sending and receiving side."""
    return ("left", "right") if flow.group.direction == "forward" else ("right", "left")


def _namespaces(guest: Guest, profiles: Mapping[_Profile, int], placed: list[tuple[PlannedFlow, int]]) -> Iterator[str]:
    """The plan's lines for namespaces, devices, addresses and settings."""
    yield f"namespace {NET}"
    links: list[str] = []
    addresses: dict[tuple[str, int], set[int]] = {}
    for flow, k in placed:
        for side, host in zip(_sides(flow), (flow.src, flow.dst), strict=True):
            addresses.setdefault((side, k), set()).add(host)
    for udp in guest.plan.udp:
        for side, host in zip(("left", "right") if udp.src < udp.dst else ("right", "left"), (udp.src, udp.dst), strict=True):
            addresses.setdefault((side, 0), set()).add(host)
    hosts = [(f"{side[0]}{k}", side, k, profile) for profile, k in profiles.items() for side in ("left", "right")]
    for name, *_ in hosts:
        yield f"namespace {name}"
    for name in (NET, *(host[0] for host in hosts)):
        yield f"sysctl-if-there {name} net.ipv6.conf.all.disable_ipv6 1"
        yield f"sysctl-if-there {name} net.ipv6.conf.default.disable_ipv6 1"
    for name, *_ in hosts:
        links.append(f"link add {name} address {_MAC} type veth peer name eth0 address {_MAC} netns {name}")
    for gate in _GATES.values():
        links.append(f"link add {gate} address {_MAC} type veth peer name {peer(gate)}")
    for device in (*guest.devices.values(), *guest.delay_devices.values()):
        links.append(f"link add {device} type veth peer name {peer(device)}")
    pairs = [end for device in (*guest.devices.values(), *guest.delay_devices.values()) for end in (device, peer(device))]
    gates = [end for gate in _GATES.values() for end in (gate, peer(gate))]
    ups = [f"link set {device} arp off up" for device in (*(name for name, *_ in hosts), *gates, *pairs)]
    routes = [f"route add {_SUBNET[side]}.0.0/16 dev {_GATES[_other(side)]}" for side in _GATES]
    guest.files["net.ip"] = "".join(f"{line}\n" for line in (*links, *ups, *routes))
    yield f"run {NET} - ip -batch net.ip"
    yield f"sysctl {NET} net.ipv4.ip_forward 1"
    for name, side, k, profile in hosts:
        segments = " gso_max_segs 1" if profile.offload == "none" else ""
        guest.files[f"{name}.ip"] = "".join(
            f"{line}\n"
            for line in (
                f"link set eth0{segments} arp off up",
                *(f"address add {_address(side, host)}/32 dev eth0" for host in sorted(addresses.get((side, k), ()))),
                f"route add 10.0.0.0/8 dev eth0{profile.metrics}",
            )
        )
        yield f"offload {name} eth0 {profile.offload}"
        yield f"run {name} - ip -batch {name}.ip"
        yield f"sysctl {name} net.ipv4.tcp_no_metrics_save 1"
        # On one machine a packet keeps the hash that its sender gave it, and TCP changes that after each timeout: no router would see it.
        yield f"sysctl {name} net.core.txrehash 0"
        yield f"sysctl {name} net.ipv4.tcp_ecn {int(profile.ecn)}"
        for key, value in profile.sysctls:
            yield f"sysctl {name} {key} {value}"
    yield f"sysctl init net.ipv4.tcp_mem {_PLENTY} {_PLENTY} {_PLENTY}"


# --- ports ---------------------------------------------------------------------------------------------------------


def peer(device: str) -> str:
    """The other end of a device's pair."""
    return {"p": "q", "x": "y", "g": "h"}[device[0]] + device[1:]


def _major(handle: str) -> int:
    return int(handle.rstrip(":"), 16)


def _qdisc_lines(guest: Guest) -> Iterator[str]:
    for name, port in guest.plan.ports.items():
        yield from queue_commands(port, guest.devices[name])
        if name in guest.delay_devices:
            yield f"qdisc add dev {guest.delay_devices[name]} root handle 1: {link_delay(port)}"


def _filter_lines(guest: Guest, placed: list[tuple[PlannedFlow, int]]) -> Iterator[str]:
    """From where packets come out to where they go next."""
    hops: dict[str, dict[tuple[str, str, int], str]] = {}
    streams = [
        (proto, i, ways, ends)
        for i, (proto, ways, ends) in enumerate(
            [
                *(("tcp", (flow.forward, flow.reverse), (*_sides(flow), k)) for flow, k in placed),
                *(("udp", (udp.forward, ()), (*_udp_sides(udp.src, udp.dst), 0)) for udp in guest.plan.udp),
            ]
        )
    ]
    for proto, i, (data, acks), (sender, receiver, k) in streams:
        for ports, origin, target in ((data, sender, receiver), (acks, receiver, sender)):
            if not ports:
                continue
            match = (proto, origin, i)
            at = peer(_GATES[origin])
            for name in ports:
                hops.setdefault(at, {})[match] = guest.devices[name]
                at = peer(guest.devices[name])
                if name in guest.delay_devices:
                    hops.setdefault(at, {})[match] = guest.delay_devices[name]
                    at = peer(guest.delay_devices[name])
            hops.setdefault(at, {})[match] = f"{target[0]}{k}"
    outages = [
        (i, peer(guest.devices[impairment.port]))
        for i, impairment in enumerate(guest.plan.impairments)
        if isinstance(impairment.what, Outage)
    ]
    for at, nexts in hops.items():
        yield f"qdisc add dev {at} clsact"
        for i, device in outages:
            if device == at:
                yield f"filter add dev {at} ingress protocol ip prio {i + 1} matchall action gact continue index {i + 1}"
        common, _ = Counter(nexts.values()).most_common(1)[0]
        prefix = f"filter add dev {at} ingress protocol ip"
        for (proto, origin, i), to in nexts.items():
            if to != common:
                one = f"flower ip_proto {proto} src_port {_FIRST_PORT[origin] + i}"
                yield f"{prefix} prio 1000 {one} action mirred egress redirect dev {to}"
        yield f"{prefix} prio 2000 matchall action mirred egress redirect dev {common}"


def _udp_sides(src: int, dst: int) -> tuple[str, str]:
    return ("left", "right") if src < dst else ("right", "left")


def _hops(guest: Guest) -> Iterator[str]:
    """The devices whose filters hand packets on."""
    for device in (*guest.devices.values(), *guest.delay_devices.values(), *_GATES.values()):
        yield peer(device)


def _impairments(guest: Guest) -> Iterator[str]:
    for i, impairment in enumerate(guest.plan.impairments):
        yield from _impairment(guest, i, impairment)


def _impairment(guest: Guest, i: int, impairment: PlannedImpairment) -> Iterator[str]:
    device, port, what = guest.devices[impairment.port], guest.plan.ports[impairment.port], impairment.what
    at = int(what.at)
    if isinstance(what, Outage):
        for time, action in ((at, "drop"), (at + what.for_, "continue")):
            yield f"at {time} {NET} - tc actions change action gact {action} index {i + 1}"
    elif isinstance(what, RateStep):
        for command in rate_commands(port, device, guest.delay_devices.get(impairment.port), int(what.rate)):
            yield f"at {at} {NET} - tc {command}"


# --- traffic -------------------------------------------------------------------------------------------------------


def _flow_lines(guest: Guest, placed: list[tuple[PlannedFlow, int]]) -> Iterator[str]:
    for i, (flow, k) in enumerate(placed):
        (sender, receiver), host = _sides(flow), flow.group.host
        buffers = [0 if size is None else int(size) for size in (host.sndbuf, host.rcvbuf)]
        yield _words(
            "tcp",
            *_ends(i, k, sender, receiver, flow.src, flow.dst),
            flow.start_ns,
            -1 if flow.stop_ns is None else flow.stop_ns,
            flow.group.cc,
            -1 if flow.group.bytes is None else int(flow.group.bytes),
            *buffers,
        )
        if flow.stop_ns is not None:
            name = f"{sender[0]}{k}"
            if f"tc/{name}" not in guest.metadata:
                guest.metadata[f"tc/{name}"] = True
                yield f"run {name} - tc qdisc add dev eth0 clsact"
            match = f"flower ip_proto tcp src_port {_FIRST_PORT[sender] + i}"
            yield f"at {flow.stop_ns} {name} - tc filter add dev eth0 egress protocol ip prio {i + 1} {match} action drop"
    for i, udp in enumerate(guest.plan.udp, len(placed)):
        sides = _udp_sides(udp.src, udp.dst)
        interval = int(udp.traffic.size) * 8 * _NS_PER_S // int(udp.traffic.rate)
        yield _words("udp", *_ends(i, 0, *sides, udp.src, udp.dst), udp.start_ns, udp.stop_ns, interval, int(udp.traffic.size) - 42)


def _ends(i: int, k: int, sender: str, receiver: str, src: int, dst: int) -> Iterable[object]:
    names = (f"{sender[0]}{k}", f"{receiver[0]}{k}")
    return (*names, _address(sender, src), _address(receiver, dst), _FIRST_PORT[sender] + i, _FIRST_PORT[receiver] + i)


def _words(*words: object) -> str:
    return " ".join(map(str, words))
