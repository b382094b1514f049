"""Hosts: namespaces, addresses and settings.

Hosts of a side are one namespace for each set of TCP settings that differ (K counts them). A host with a queue of its own has a namespace
to itself, and the queue is on its eth0, so that TCP learns of a drop there. Packets that leave a host are routed once, to gl (from the
right to gr): the IP layer takes a packet off its sender's account there, as any other machine would. Without that, TCP small queues would
count the packets in the bottleneck as the sender's own and hold back what follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.catalogue import Parameter, entries
from dumbbell.engines.linux import sce
from dumbbell.engines.linux.devices import GATES, NET, Devices, own_name, peer
from dumbbell.plan import Place, Plan, Refusal, Side, Tcp, Workload
from dumbbell.plan.addresses import SUBNETS, address
from dumbbell.scenario.units import ETHERNET_MTU

_OPTIONS: Mapping[str, Parameter] = {each.name: each for each in entries("stack")["linux"].parameters if each.word}
STACK_OPTIONS: dict[str, Any] = {name: each.default for name, each in _OPTIONS.items()}
"""Options of the stack that a plan may override, with Linux's defaults: those that are a sysctl or a metric of a route."""
STACK_SINCE: dict[str, str] = {name: each.since for name, each in _OPTIONS.items()}
"""The series of Linux that has each of them first; empty: all do."""
_SIDES: tuple[Side, Side] = ("left", "right")
MAC = "02:00:00:00:00:01"
"""The address of every host: without ARP, a host sends to its own address, and the device that gets the frame takes it."""
_PLENTY = "1000000"
"""Pages, where a limit of the kernel's on all TCP together must not matter."""


@dataclass(frozen=True)
class Profile:
    """Settings of a host that belong to its namespace, not to a socket."""

    offload: str
    ecn: bool
    sysctls: tuple[tuple[str, str], ...]
    metrics: str
    """Route metrics."""
    program: str = ""
    """The workload of a program, which has a host to itself: sockets that are bound to no address have that of their host."""

    @classmethod
    def of(cls, workload: Tcp) -> Profile:
        """Return the requirements of a workload on its hosts: options of the stack are sysctls and route metrics."""
        host, options = workload.host, workload.options
        sizes = {"net.ipv4.tcp_rmem": host.rmem, "net.ipv4.tcp_wmem": host.wmem}
        sysctls = {key: " ".join(map(str, three)) for key, three in sizes.items() if three}
        words = [_told(_OPTIONS[name], value) for name, value in options.items() if name in _OPTIONS]
        sysctls |= dict(word.split("=", 1) for word in words if "=" in word)
        if not workload.sack:
            sysctls["net.ipv4.tcp_sack"] = "0"
        if not workload.timestamps:
            sysctls["net.ipv4.tcp_timestamps"] = "0"
        if not workload.window_scaling:
            sysctls["net.ipv4.tcp_window_scaling"] = "0"
        sysctls |= sce.sysctls(workload)
        if workload.program is not None and workload.transport == "tcp" and not workload.program.names_control:
            sysctls["net.ipv4.tcp_congestion_control"] = workload.cc["kind"]
        sysctls |= host.sysctls
        if host.cached_ssthresh is not None:
            words.append(f"ssthresh {host.cached_ssthresh}")
        metrics = "".join(f" {word}" for word in sorted(words) if word and "=" not in word)
        offload = "on" if host.gso else "tso" if host.tso else "none"
        return cls(offload, workload.ecn, tuple(sorted(sysctls.items())), metrics, "" if workload.program is None else workload.id)


def _told(option: Parameter, value: Any) -> str:
    """Return the words that set an option: `SYSCTL=VALUE`, or a metric of a route; nothing for a flag that needs none."""
    return option.word.split("|")[not value] if option.kind == "flag" else option.word.format(value)


_WITHOUT_TCP = Profile("none", ecn=False, sysctls=(), metrics="")
"""Profile of hosts that send only datagrams."""


@dataclass(frozen=True)
class Namespace:
    """A host."""

    name: str
    profile: Profile
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class Ends:
    """The ends of a workload's data."""

    source: str
    """Namespace, as the next."""
    target: str
    source_address: str
    target_address: str


class Hosts:
    """The hosts of a plan as namespaces."""

    def __init__(self, plan: Plan) -> None:
        """Datagrams are between the namespaces of the first workload of TCP, or those of hosts with queues."""
        of_programs = {workload.id for workload in plan.tcp if workload.program is not None}
        shared_by_datagrams = any(workload.id not in of_programs for _, _, workload in plan.over_tcp)
        needed = any(workload.over is None for workload in plan.workloads) or not plan.workloads
        profiles: dict[Profile, int] = {_WITHOUT_TCP: 0} if needed and not shared_by_datagrams else {}
        numbers: dict[tuple[Side, str], set[int]] = {}
        own: dict[str, Profile] = {}
        self._ends: dict[str, Ends] = {}
        for workload in sorted(plan.workloads, key=lambda each: (each.over is None, each.id in of_programs)):
            k = 0 if workload.over is None else profiles.setdefault(Profile.of(workload.over), len(profiles))
            ends, names = [plan.hosts[workload.source], plan.hosts[workload.target]], []
            for host in ends:
                name = _name(host.side, k) if host.egress is None else own_name(host.side, host.egress)
                numbers.setdefault((host.side, name), set()).add(host.number)
                if host.egress is not None:
                    own.setdefault(name, tuple(profiles)[k])
                names.append(name)
            self._ends[workload.id] = Ends(*names, *(address(host.side, host.number) for host in ends))
        self.profiles = tuple(profiles)
        shared = {_name(side, k): profile for profile, k in profiles.items() for side in _SIDES}
        spaces = [(side, name, profile) for name, profile in (shared | own).items() for side in _SIDES if name[0] == side[0]]
        if own:
            # A namespace of a profile may be empty here.
            spaces = sorted((each for each in spaces if each[:2] in numbers), key=lambda each: _SIDES.index(each[0]))
        self.namespaces = tuple(
            Namespace(name, profile, tuple(address(side, number) for number in sorted(numbers.get((side, name), ()))))
            for side, name, profile in spaces
        )

    def ends(self, workload: Workload) -> Ends:
        """Return the source and destination of a workload's data."""
        return self._ends[workload.id]

    def captures(self) -> list[tuple[str, str]]:
        """Each namespace with a file for its packets."""
        files: dict[str, str] = {}
        for side in _SIDES:
            names = [host.name for host in self.namespaces if host.name[0] == side[0]]
            files |= {name: f"{side}.pcap" if i == 0 else f"{side}-{i}.pcap" for i, name in enumerate(names)}
        return [(host.name, files[host.name]) for host in self.namespaces]


def _name(side: Side, k: int) -> str:
    return f"{side[0]}{k}"


def host_conflicts(plan: Plan) -> Iterator[Refusal]:
    """Yield flows of a host with a queue of its own that want different settings: they would be in two namespaces, and the queue in one.
    Changes of such a queue during a run are not possible either."""
    for i, change in enumerate(plan.schedule):
        if any(host.egress == change.port for host in plan.hosts):
            yield Refusal(Place("change", i), "port", "is a host's own queue", "a port on no host, or engine: sim")
    settings: dict[int, Profile] = {}
    for i, prefix, workload in plan.over_tcp:
        for name, value in workload.options.items():
            if value is None and name in _OPTIONS:
                yield Refusal(Place("workload", i), f"{prefix}options.{name}", "null is no value of the sysctl", "a number, or engine: sim")
        profile = Profile.of(workload)
        for index in (workload.source, workload.target):
            host = plan.hosts[index]
            if host.egress is not None and settings.setdefault(host.egress, profile) != profile:
                what = f"has other settings (offload, ecn, buffers, sysctls) than another flow of the host {host.id}, which has one queue"
                yield Refusal(Place("workload", i), f"{prefix}host", what, "the same for all flows of the host, or engine: sim")


def links(hosts: Hosts, devices: Devices, mtu: int = ETHERNET_MTU) -> list[str]:
    """ip's lines for all devices and the routes between hosts and gates."""
    size = _size(mtu)
    names = [host.name for host in hosts.namespaces]
    added = [f"link add {name} address {MAC} type veth peer name eth0 address {MAC} netns {name}" for name in names]
    added += [f"link add {gate} address {MAC} type veth peer name {peer(gate)}" for gate in GATES.values()]
    added += [f"link add {device} type veth peer name {peer(device)}" for device in devices.pairs]
    gates = [end for gate in GATES.values() for end in (gate, peer(gate))]
    pairs = [end for device in devices.pairs for end in (device, peer(device))]
    ups = [f"link set {device}{size} arp off up" for device in (*names, *gates, *pairs)]
    left, right = GATES.values()
    return [*added, *ups, f"route add {SUBNETS['left']}.0.0/16 dev {right}", f"route add {SUBNETS['right']}.0.0/16 dev {left}"]


def _size(mtu: int) -> str:
    """Return the words that make a device carry packets of this size; a route has the size of its device."""
    return "" if mtu == ETHERNET_MTU else f" mtu {mtu}"


def addressed(host: Namespace, mtu: int = ETHERNET_MTU) -> list[str]:
    """ip's lines within a host."""
    segments = " gso_max_segs 1" if host.profile.offload == "none" else ""
    return [
        f"link set eth0{_size(mtu)}{segments} arp off up",
        *(f"address add {each}/32 dev eth0" for each in host.addresses),
        f"route add 10.0.0.0/8 dev eth0{host.profile.metrics}",
    ]


def without_ipv6(name: str) -> Iterator[str]:
    """The agent's lines that keep IPv6 out of a namespace."""
    yield f"sysctl-if-there {name} net.ipv6.conf.all.disable_ipv6 1"
    yield f"sysctl-if-there {name} net.ipv6.conf.default.disable_ipv6 1"


def plenty_of_memory() -> str:
    """The agent's line that lifts the kernel's limit on the memory of all TCP together."""
    return f"sysctl init net.ipv4.tcp_mem {_PLENTY} {_PLENTY} {_PLENTY}"


def lines(hosts: Hosts, real_time: bool = False) -> Iterator[str]:
    """The agent's lines that make the hosts, with their settings. A machine in real time keeps those of the whole machine."""
    yield f"namespace {NET}"
    for host in hosts.namespaces:
        yield f"namespace {host.name}"
    for name in (NET, *(host.name for host in hosts.namespaces)):
        yield from without_ipv6(name)
    yield f"run {NET} - ip -batch {NET}.ip"
    yield f"sysctl {NET} net.ipv4.ip_forward 1"
    for host in hosts.namespaces:
        yield f"offload {host.name} eth0 {host.profile.offload}"
        yield f"run {host.name} - ip -batch {host.name}.ip"
        yield f"sysctl {host.name} net.ipv4.tcp_no_metrics_save 1"
        # On one machine a packet keeps the hash that its sender gave it, and TCP changes that after each timeout: no router would see it.
        yield f"sysctl {host.name} net.core.txrehash 0"
        yield f"sysctl {host.name} net.ipv4.tcp_ecn {int(host.profile.ecn)}"
        for key, value in host.profile.sysctls:
            yield f"sysctl {host.name} {key} {value}"
    if not real_time:
        yield plenty_of_memory()
