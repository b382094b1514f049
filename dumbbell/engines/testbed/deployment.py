"""A plan over several machines: the changes on each of them, and the script of its agent.

A host is a machine of its side. Flows whose hosts differ, in their settings or by name, are on different machines. The router has the ports
between its two data devices, as the engine `kernel` has them between its gates. A packet that comes out of the last port carries the
address of the device that it came in by, so that the machine takes it for its own and routes it on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from dumbbell.engines.base import measuring
from dumbbell.engines.linux import applications
from dumbbell.engines.linux.captures import point_lines
from dumbbell.engines.linux.devices import NET, Devices, peer
from dumbbell.engines.linux.faults import distribution_files
from dumbbell.engines.linux.filters import ends_at, filter_lines
from dumbbell.engines.linux.hosts import Ends, Hosts, Profile
from dumbbell.engines.linux.qdiscs import queue_lines
from dumbbell.engines.linux.script import SCRIPT, change_lines, port_lines, qdisc_lines
from dumbbell.engines.linux.sources.arrivals import arrivals, coming
from dumbbell.engines.linux.sources.datagrams import list_files
from dumbbell.engines.linux.sources.draws import draw_files
from dumbbell.engines.linux.traffic import arrivals_file, coming_lines, end_line, traffic_lines
from dumbbell.engines.testbed.facts import Facts
from dumbbell.engines.testbed.hosts import Host, Interface, Router
from dumbbell.engines.testbed.hosts import Hosts as HostsFile
from dumbbell.engines.testbed.journal import Change, batch, clsact, coalescing, offloads, queue, segments, veths
from dumbbell.engines.testbed.journal import route as route_change
from dumbbell.plan import RUN, Plan, Refusal, Side, Workload

_OFF = dict.fromkeys(
    ("tcp-segmentation-offload", "generic-segmentation-offload", "generic-receive-offload", "large-receive-offload"), False
)
"""Offloads that make segments of several packets, or one segment of several packets."""
_AT_ONCE = {"adaptive-rx": "off", "adaptive-tx": "off", "rx-usecs": "0", "tx-usecs": "0"}
"""Interrupts that do not wait for more packets."""
_SIDES: tuple[Side, Side] = ("left", "right")


@dataclass(frozen=True)
class MachinePart:
    """The part of a deployment on one machine."""

    settings: Mapping[str, str]
    """Sysctls, set before anything else."""
    changes: tuple[Change, ...]
    """Changes in order. Each is undone, or goes with the object that it is on."""
    files: Mapping[str, str | bytes]
    """Files that the agent finds in its folder."""
    captures: tuple[str, ...] = ()
    """Files with packets."""
    tc: tuple[str, ...] = ()
    """Its lines for tc."""
    anew: tuple[Change, ...] = ()
    """Makes all queues and filters again, which have counted nothing then; undone as the first ones."""


@dataclass(frozen=True)
class Deployment:
    """The deployment of a run."""

    parts: Mapping[str, MachinePart]
    """By machine."""
    devices: Devices
    """Devices of the router's ports."""
    ends: Mapping[str, tuple[str, str]]
    """Workload -> the machines that its data come from and go to."""
    queues: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    """Ports of the plan that are hosts' own queues -> the machine and the device that have it."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Facts of the run: addresses, settings, tc's lines."""


class _Seats:
    """The machine for each host."""

    def __init__(self, plan: Plan, hosts: HostsFile) -> None:
        self.refused: list[Refusal] = []
        self.profiles: dict[str, Profile] = {}
        """Profile of each machine that is used."""
        self.of: dict[str, tuple[str, str]] = {}
        self.queues: dict[int, str] = {}
        """Port -> the machine whose own queue it is."""
        spaces = Hosts(plan)
        profiles = {space.name: space.profile for space in spaces.namespaces}
        taken: dict[Side, dict[tuple[str, int], str]] = {"left": {}, "right": {}}
        for workload in plan.workloads:
            ends, machines = spaces.ends(workload), []
            for host, space in ((plan.hosts[workload.source], ends.source), (plan.hosts[workload.target], ends.target)):
                free = [name for name in hosts.side(host.side) if name not in taken[host.side].values()]
                seat = space, host.number
                if seat not in taken[host.side] and not free:
                    machines.append("")
                    continue
                machines.append(taken[host.side].setdefault(seat, free[0] if free else ""))
                self.profiles[machines[-1]] = profiles[space]
                if host.egress is not None:
                    self.queues[host.egress] = machines[-1]
            self.of[workload.id] = machines[0], machines[1]
        for side in _SIDES:
            there = len(hosts.side(side))
            wanted = len({(space, host.number) for space, host in _hosts(plan, spaces) if host.side == side})
            if wanted > there:
                what = f"take {wanted} hosts on the {side}, by their settings and names, and the testbed has {there}"
                self.refused.append(Refusal(RUN, "flows", what, "more machines in the hosts file, or flows with the same settings"))


def _hosts(plan: Plan, spaces: Hosts) -> Iterator[tuple[str, Any]]:
    for workload in plan.workloads:
        ends = spaces.ends(workload)
        yield ends.source, plan.hosts[workload.source]
        yield ends.target, plan.hosts[workload.target]


def unseated(plan: Plan, hosts: HostsFile) -> Iterator[Refusal]:
    """Refuses more hosts than the testbed has."""
    yield from _Seats(plan, hosts).refused


class _Seen(Hosts):
    """Hosts as one machine sees them: itself, and others that are elsewhere."""

    def __init__(self, plan: Plan, hosts: HostsFile, seats: _Seats, machine: str) -> None:
        super().__init__(plan)
        self._machine, self._file, self._seats = machine, hosts, seats

    def ends(self, workload: Workload) -> Ends:
        """`init` is this machine, `-` another one."""
        places = ["init" if name == self._machine else "-" for name in self._seats.of[workload.id]]
        addresses = [str(_host(self._file, name).data.address.ip) for name in self._seats.of[workload.id]]
        return Ends(places[0], places[1], addresses[0], addresses[1])


def deploy(plan: Plan, hosts: HostsFile, facts: Mapping[str, Facts], at: str) -> Deployment:
    """Return the deployment of a plan that `unseated` accepts: what is done on each machine. `facts`: of all machines; `at`: the folder of
    their files."""
    seats, devices = _Seats(plan, hosts), Devices.of(plan)
    name, router = hosts.router
    used = {machine for pair in seats.of.values() for machine in pair}
    parts = {machine: _host_part(plan, hosts, seats, machine, facts[machine], devices) for machine in hosts.by_name if machine in used}
    parts[name] = _router_part(plan, _Seen(plan, hosts, seats, name), devices, router, facts[name], at)
    addresses = {machine: str(_host(hosts, machine).data.address) for machine in parts if machine != name}
    offload = {machine: profile.offload for machine, profile in seats.profiles.items()}
    on_hosts = {machine: list(part.tc) for machine, part in parts.items() if machine != name and part.tc}
    told = {"addresses": addresses, "offload": offload, "tc": list(parts[name].tc), **({"tc on hosts": on_hosts} if on_hosts else {})}
    queues = {i: (machine, _host(hosts, machine).data.device) for i, machine in seats.queues.items()}
    return Deployment(parts, devices, seats.of, queues, told)


def _host(hosts: HostsFile, name: str) -> Host:
    machine = hosts.by_name[name]
    assert isinstance(machine, Host)  # workloads are between hosts
    return machine


def _host_part(plan: Plan, hosts: HostsFile, seats: _Seats, name: str, facts: Facts, devices: Devices) -> MachinePart:
    machine, profile, seen = _host(hosts, name), seats.profiles[name], _Seen(plan, hosts, seats, name)
    device = machine.data.device
    lines = chain(traffic_lines(plan, seen, real_time=True), coming_lines(plan, seen))
    told = [line.replace(" dev eth0 ", f" dev {device} ").split() for line in lines]
    settings = {"net.ipv4.tcp_no_metrics_save": "1", "net.ipv4.tcp_ecn": str(int(profile.ecn)), **dict(profile.sysctls)}
    settings |= {words[2]: " ".join(words[3:]) for words in told if words[:2] == ["sysctl", "init"]}
    # The next run has the same ports, which those of connections that are over would keep for a minute. `coming_lines` asks for
    # the opposite, which is right for a guest that is made for one run.
    settings["net.ipv4.tcp_max_tw_buckets"] = "0"
    changes = [*_prepared(device, facts, profile), clsact(device)]
    changes += _ways(hosts, machine, device, profile, facts, _controls(plan, hosts, seats, name))
    captures = (f"{machine.role}.pcap",) if plan.capture else ()
    own = [i for i, at in seats.queues.items() if at == name]
    tc = [line for i in own for line in queue_lines(plan.ports[i], device)]
    if tc:
        changes.append(queue(device, tc))
    script = [
        *(" ".join(words) for words in told if words[0] not in ("sysctl", "run") and words[:3:2] != ["at", "-"]),
        end_line("init", device),
        *(f"capture init {file} {device}" for file in captures),
        *(f"egress init {int(devices.leaves[i].rstrip(':'), 16)} {device} {devices.queues[i]}" for i in own),
        f"sample {plan.sample_ns}",
        f"duration {plan.duration_ns}",
        "traffic",
        *(f"run init {devices.queues[i]}.json tc -s -j -batch end.tc" for i in own),
        *(("drain",) if measuring(plan) else ()),
    ]
    files: dict[str, str | bytes] = {SCRIPT: "".join(f"{line}\n" for line in script), "end.tc": "qdisc show\n"}
    files |= {**applications.files(plan, seen, real_time=True), **draw_files(plan), **list_files(plan)}
    files |= {arrivals_file(i): arrivals(plan, workload) for i, workload in coming(plan)}
    anew = (batch("tc", [f"qdisc del dev {device} root", *tc]),) if tc else ()
    return MachinePart(settings, tuple(changes), files, captures, tuple(tc), anew)


def _controls(plan: Plan, hosts: HostsFile, seats: _Seats, name: str) -> dict[str, str]:
    """The congestion controls that a machine's routes have to have, by address."""
    pairs = {(workload.source, workload.target): seats.of[workload.id] for workload in plan.workloads}
    wanted = {pairs[hosts_of]: cc for hosts_of, cc in applications.controls(plan).items()}
    return {str(_host(hosts, target).data.address.ip): cc for (source, target), cc in wanted.items() if source == name}


def _prepared(device: str, facts: Facts, profile: Profile | None) -> Iterator[Change]:
    """A data device: a packet is a packet, and comes at once. The router has no profile."""
    found = facts.devices[device]
    if profile is None or profile.offload != "on":
        yield from offloads(device, _OFF, found.hardware.features if found.hardware else {})
    if found.hardware is not None:
        yield from coalescing(device, _AT_ONCE, found.hardware.coalescing)
    if profile is not None and profile.offload == "none" and found.gso_max_segs not in (None, 1):
        yield segments(device, 1, found.gso_max_segs or 1)


def _ways(hosts: HostsFile, machine: Host, device: str, profile: Profile, facts: Facts, controls: Mapping[str, str]) -> Iterator[Change]:
    """A route to each host beyond the router, with the metrics of the stack and the congestion control, if there is none that will do."""
    _, router = hosts.router
    beyond: Side = "right" if machine.role == "left" else "left"
    gateway = str((router.left if machine.role == "left" else router.right).address.ip)
    for other in hosts.side(beyond).values():
        address = str(other.data.address.ip)
        metrics = (*profile.metrics.split(), *(("congctl", controls[address]) if address in controls else ()))
        if metrics or facts.ways.get(address, {}).get("gateway") != gateway:
            change = route_change(f"{address}/32", gateway, device)
            yield Change((*change.do, *metrics), change.undo, change.unless)


def _router_part(plan: Plan, seen: _Seen, devices: Devices, router: Router, facts: Facts, at: str) -> MachinePart:
    sides: dict[Side, Interface] = {"left": router.left, "right": router.right}
    entries = {side: interface.device for side, interface in sides.items()}
    routing = {f"net.ipv4.conf.{name}.rp_filter": "0" for name in ("all", "default", *entries.values())}
    routing |= {f"net.ipv4.conf.{name}.send_redirects": "0" for name in ("all", *entries.values())}
    changes: list[Change] = []
    for device in entries.values():
        changes += [*_prepared(device, facts, None), clsact(device)]
    macs = {
        at: facts.devices[entries[side]].mac for at, side in ends_at(plan, devices, seen, entries).items() if at not in entries.values()
    }
    pairs = [(device, peer(device)) for device in devices.pairs]
    changes.append(veths(pairs))
    # Their offloads matter to nobody: no packet that comes by the data devices is larger than one packet.
    changes.append(batch("ip", [_up(end, macs.get(end), plan.mtu_bytes) for pair in pairs for end in pair]))
    tc = [*qdisc_lines(plan, devices), *filter_lines(plan, devices, seen, entries, tuple(entries.values()))]
    distributions = distribution_files(plan)
    # The folder that tc looks for distributions in.
    program = f"env TC_LIB_DIR={at} tc" if distributions else "tc"
    changes.append(batch(program, tc))
    gone = [f"qdisc del dev {device} root" for device in devices.pairs] + [f"qdisc del dev {device} clsact" for device in entries.values()]
    gone += [" ".join(words).replace(" add ", " del ") for words in map(str.split, tc) if words[-1] == "clsact"]
    anew = batch(program, [*gone, *(f"qdisc add dev {device} clsact" for device in entries.values()), *tc])
    captures = [(file, ends) for _, file, *ends in point_lines(plan, devices)]
    script = [
        *(line.replace(f" {NET} ", " init ", 1) for line in (*change_lines(plan, devices), *_ports_here(devices))),
        *(f"delay init {device} 1" for device in devices.delays if device),
        *(f"hop {device}" for device in (*(peer(device) for device in devices.pairs), *entries.values())),
        *(f"capture init {file} {' '.join(ends)}" for file, ends in captures),
        f"sample {plan.sample_ns}",
        f"duration {plan.duration_ns}",
        "traffic",
        "run init end.json tc -s -j -batch end.tc",
    ]
    files: dict[str, str | bytes] = {SCRIPT: "".join(f"{line}\n" for line in script), "end.tc": "qdisc show\n", **distributions}
    settings = {"net.ipv4.ip_forward": "1", **routing}
    return MachinePart(settings, tuple(changes), files, tuple(file for file, _ in captures), tuple(tc), (anew,))


def _ports_here(devices: Devices) -> Iterator[str]:
    """The router's own: the queues of hosts are there."""
    return (line for line, on_host in zip(port_lines(devices), devices.on_host, strict=True) if not on_host)


def _up(device: str, mac: str | None, mtu: int) -> str:
    """Return ip's line for an end of a pair."""
    return f"link set dev {device}{f' address {mac}' if mac else ''} mtu {mtu} arp off up"
