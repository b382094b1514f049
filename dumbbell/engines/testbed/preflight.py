"""Problems that prevent a run or make its numbers doubtful: a pure function of the machines' facts and of the run's needs.

It finds all problems of all machines at once, before anything has been changed. An error prevents the run; a warning is kept with the
results.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dumbbell.engines.testbed.facts import Device, Facts, differences
from dumbbell.engines.testbed.hosts import Host, Hosts, Interface, Router
from dumbbell.scenario.ready_made import PACKAGES
from dumbbell.scenario.units import ETHERNET_MTU

OFFLOADS = (
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "large-receive-offload",
    "rx-gro-hw",
)
"""Offloads that make one packet of several, which a queue then counts as one."""
TOOLS: Mapping[str, str] = {
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "flock": "util-linux",
    "sync": "coreutils",
    "timeout": "coreutils",
    "sha256sum": "coreutils",
    "tar": "tar",
    "gzip": "gzip",
}
"""Programs that every session uses, and their packages."""
DEFAULT_QUEUES = ("noqueue", "noop", "pfifo_fast", "fq_codel", "mq")
"""Queue disciplines that a device has if nobody chose one."""
_NET_ADMIN = 1 << 12  # include/uapi/linux/capability.h
_OUR_DEVICES = re.compile(r"[pqxy][0-9]+")
_MODULES: Mapping[str, str] = {"clsact": "sch_ingress", "pfifo": "sch_fifo", "bfifo": "sch_fifo"}
_LATE_US = 1000
_STEAL = 0.02
_COALESCED_US = 100
_CLOCK_ERROR_NS = 50_000_000


@dataclass(frozen=True)
class Needs:
    """Needs of a run on one machine."""

    qdiscs: frozenset[str] = frozenset()
    filters: tuple[frozenset[str], ...] = ()
    """Sets of classifiers any one of which is enough; none if none is needed."""
    actions: frozenset[str] = frozenset()
    controls: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    """Programs in addition to those of every session."""
    rate_bps: int | None = None
    """Rate of the fastest bottleneck that its data devices have to feed."""
    without_offload: bool = False
    """Packets are to be as large on the wire as TCP means them; on the router always."""
    bytes: int = 0
    """Bytes that it will write."""
    rcvbuf_bytes: int | None = None
    kernel: str | None = None
    """Beginning of its version, such as 6.12; None: whichever it has."""
    burst_us: float | None = None
    """Time that the bucket of the shaper lasts, if the scenario sets it."""


@dataclass(frozen=True)
class Measured:
    """Measurements of a machine; None: not measured."""

    lateness_p99_us: float | None = None
    """Lateness of a timer of 1 ms."""
    clock_uncertainty_ns: int | None = None
    clock_drift_ns: int | None = None


@dataclass(frozen=True)
class Problem:
    """A problem of one machine."""

    machine: str
    level: Literal["error", "warning"]
    text: str

    def __str__(self) -> str:
        return f"{self.machine}: {self.text}"


Found = Iterator[tuple[Literal["error", "warning"], str]]


@dataclass(frozen=True)
class _Case:
    """One machine."""

    hosts: Hosts
    machine: Host | Router | None
    """None: the only one."""
    facts: Facts
    needs: Needs
    measured: Measured = field(default=Measured())

    @property
    def interfaces(self) -> list[Interface]:
        return interfaces(self.machine)

    @property
    def devices(self) -> list[Device]:
        """Data devices that exist."""
        return [self.facts.devices[each.device] for each in self.interfaces if each.device in self.facts.devices]

    @property
    def is_privileged(self) -> bool:
        return bool(self.facts.account.capabilities & _NET_ADMIN) or bool(self.hosts.control and self.hosts.control.sudo)


def interfaces(machine: Host | Router | None) -> list[Interface]:
    """The data interfaces of a machine."""
    if machine is None:
        return []
    return [machine.data] if isinstance(machine, Host) else [machine.left, machine.right]


def addresses_asked(hosts: Hosts, name: str) -> list[str]:
    """The addresses whose routes matter on a machine: of a host those beyond the router, of the router all."""
    machine = hosts.by_name[name]
    beyond: Mapping[str, tuple[Literal["left", "right"], ...]] = {"left": ("right",), "right": ("left",), "router": ("left", "right")}
    return [str(host.data.address.ip) for side in beyond[machine.role] for host in hosts.side(side).values()]


def check(
    hosts: Hosts, facts: Mapping[str, Facts], needs: Mapping[str, Needs], measured: Mapping[str, Measured] | None = None
) -> list[Problem]:
    """Return all problems of all machines, errors first, in the order of the machines.

    Args:
        hosts: The hosts file.
        facts: Of each machine; if the machines are local, of the only one, under any name.
        needs: Of each machine; without an entry it needs nothing in particular.
        measured: Of each machine, as far as it has been measured.
    """
    problems = []
    for name, found in facts.items():
        case = _Case(hosts, hosts.by_name.get(name), found, needs.get(name, Needs()), (measured or {}).get(name, Measured()))
        problems += [Problem(name, level, text) for each in _CHECKS for level, text in each(case)]
    return sorted(problems, key=lambda problem: problem.level)


def check_after(before: Mapping[str, Facts], after: Mapping[str, Facts]) -> list[Problem]:
    """Return the remains of a run, and the errors that devices counted during it."""
    problems = []
    for name, then in before.items():
        now = after[name]
        texts = [f"not as before: {each}" for each in differences(then, now)]
        for device in (each for each in then.devices.values() if each.hardware and each.name in now.devices):
            for counter, value in device.counters.items():
                grown = now.devices[device.name].counters.get(counter, value) - value
                if grown > 0 and counter.endswith(("errors", "dropped", "collisions")):
                    texts.append(f"{counter} of {device.name} grew by {grown} to {value + grown}; packets were lost outside the queues")
        if then.kernel.boot_id == now.kernel.boot_id and (stolen := now.processors.steal_since(then.processors.ticks)) > _STEAL:
            texts.append(f"other machines had its processors for {stolen:.1%} of the time (steal); expected at most {_STEAL:.0%}")
        problems += [Problem(name, "warning", text) for text in texts]
    return problems


def _account(case: _Case) -> Found:
    account = case.facts.account
    if not case.is_privileged:
        yield "error", f"user {account.user} may not configure the network; expected control.user: root, or control.sudo: true"
    known = {**TOOLS, **PACKAGES}
    for tool in sorted({*TOOLS, *case.needs.tools} - set(account.tools)):
        package = f" (package {known[tool]})" if tool in known else ""
        yield "error", f"{tool} is not installed{package}"
    if account.free_bytes is not None and account.free_bytes < case.needs.bytes:
        yield "error", f"/run has room for {account.free_bytes} bytes; the run writes about {case.needs.bytes}"
    if account.noexec:
        yield "error", "/run is mounted noexec, so that the agent cannot be run there; mount -o remount,exec /run"
    limit = int(case.facts.kernel.sysctls.get("net.core.rmem_max", "0"))
    if (rcvbuf := case.needs.rcvbuf_bytes) is not None and limit < rcvbuf and not case.is_privileged:
        yield "error", f"net.core.rmem_max is {limit}; expected at least the rcvbuf of {rcvbuf}, which only root may exceed"


def _leftover(case: _Case) -> Found:
    left = case.facts.leftover
    whose = f" ({left.session})" if left.session else ""
    if left.locked:
        yield "error", f"a session is running{whose}; expected its end"
    elif left.changes:
        yield "error", f"a dead session{whose} has left {left.changes} changes; `dumbbell testbed recover` undoes them"
    if left.locked:
        return
    for namespace in left.namespaces:
        yield "error", f"the namespace {namespace} is left of a session; `dumbbell testbed recover`, or ip netns del {namespace}"
    if isinstance(case.machine, Router):
        for device in case.facts.devices.values():
            if device.kind == "veth" and _OUR_DEVICES.fullmatch(device.name):
                yield "error", f"the device {device.name} is there, a name that the chain of queues needs; ip link del dev {device.name}"


def _interfaces(case: _Case) -> Found:
    for interface in case.interfaces:
        name, expected = interface.device, str(interface.address)
        device = case.facts.devices.get(name)
        if device is None:
            others = ", ".join(each for each in case.facts.devices if each != "lo") or "none"
            yield "error", f"there is no device {name}; the devices are {others}"
            continue
        if not device.up:
            yield "error", f"{name} is down; ip link set dev {name} up"
        elif not device.carrier:
            yield "error", f"{name} has no carrier; is its cable plugged in?"
        if expected not in device.addresses:
            found = ", ".join(device.addresses) or "none"
            yield "error", f"the address of {name} is {found}; expected {expected}: ip address add {expected} dev {name}"
        if device.mtu != ETHERNET_MTU:
            text = f"the MTU of {name} is {device.mtu}; expected {ETHERNET_MTU}, since queues are counted in frames of 1514 bytes"
            yield "error", f"{text}: ip link set dev {name} mtu {ETHERNET_MTU}"


def _control_route(case: _Case) -> Found:
    controller = case.facts.account.controller
    by = case.facts.ways.get(controller or "", {}).get("dev")
    if by in [each.device for each in case.interfaces]:
        yield "error", f"{by} is a data device, and the control connection from {controller} comes by it; expected another for one of them"


def _routes(case: _Case) -> Found:
    if case.machine is None:
        return
    _, router = case.hosts.router
    for other in case.hosts.by_name.values():
        if not isinstance(other, Host) or (isinstance(case.machine, Host) and other.role == case.machine.role):
            continue
        if isinstance(case.machine, Host):
            device, gateway = case.machine.data.device, str(getattr(router, case.machine.role).address.ip)
            network = str(other.data.address.network)
            expected = f"by {device} through {gateway}: ip route add {network} via {gateway}"
        else:
            device, gateway = getattr(router, other.role).device, None
            expected = f"by {device}, without a gateway"
        address = str(other.data.address.ip)
        way = case.facts.ways.get(address)
        if way is None:
            yield "error", f"there is no route to {address}; expected one {expected}"
        elif (way.get("dev"), way.get("gateway")) != (device, gateway):
            through = f" through {way['gateway']}" if "gateway" in way else ""
            yield "error", f"the route to {address} is by {way.get('dev')}{through}; expected {expected}"


def _presence(case: _Case) -> Found:
    needs, found = case.needs, case.facts.presence
    if found is None:
        if needs.qdiscs or needs.filters or needs.actions or needs.controls:
            yield "error", "what its kernel has cannot be tried; expected tc and unshare (package util-linux), and network namespaces"
        return
    for prefix, wanted, tried in (
        ("sch", needs.qdiscs, found.qdiscs),
        ("act", needs.actions, found.actions),
        ("tcp", needs.controls, found.controls),
    ):
        for name in sorted(wanted):
            if said := tried.get(name):
                yield "error", _missing(name, said, _MODULES.get(name, f"{prefix}_{name}"))
    if needs.filters and not any(all(found.filters.get(name) == "" for name in each) for each in needs.filters):
        sets = " or ".join(" with ".join(sorted(each)) for each in needs.filters)
        lacking = min((sorted(name for name in each if found.filters.get(name) != "") for each in needs.filters), key=len)
        modules = " ".join(f"cls_{name}" for name in lacking)
        yield "error", f"of the classifiers {sets} is not in this kernel; modprobe {modules}, or choose another machine"


def _missing(name: str, said: str, module: str) -> str:
    return f"{name} is not in this kernel ({said}); modprobe {module}, or choose another machine"


def _kernel(case: _Case) -> Found:
    expected, release = case.needs.kernel, case.facts.kernel.release
    if expected is not None and not re.match(rf"{re.escape(expected)}(?![0-9])", release):
        yield "error", f"its kernel is {release}; the scenario's stack is that of {expected} (stack: {{base: host}} takes what there is)"


def _hardware(case: _Case) -> Found:
    for device in case.devices:
        name, hardware = device.name, device.hardware
        if hardware is None:
            continue
        if isinstance(case.machine, Router) or case.needs.without_offload:
            for offload in OFFLOADS:
                feature = hardware.features.get(offload)
                if feature and feature.on and feature.fixed:
                    yield (
                        "error",
                        f"{offload} of {name} is on [fixed]; expected a driver that can turn it off: queues would count in bundles",
                    )
        if (rate := case.needs.rate_bps) is not None:
            if hardware.speed_mbps is None:
                yield "warning", f"the speed of {name} is unknown; expected at least twice the bottleneck's {rate / 1e6:g} Mbit/s"
            elif hardware.speed_mbps * 1_000_000 < 2 * rate:
                text = f"{name} has {hardware.speed_mbps} Mbit/s; expected at least twice the bottleneck's {rate / 1e6:g}"
                yield "error", f"{text}, else the queue is in the driver"
        if hardware.duplex not in (None, "Full"):
            yield "warning", f"{name} has duplex {hardware.duplex}; expected Full"
        yield from _coalescing(name, hardware.coalescing or {})
        on = [way for way in ("RX", "TX") if (hardware.pause or {}).get(way) == "on"]
        if on:
            text = f"pause frames ({' and '.join(on)}) are on at {name}, by which a slow receiver stops the sender"
            yield "warning", f"{text}; ethtool -A {name} autoneg off rx off tx off"


def _coalescing(device: str, settings: Mapping[str, str]) -> Found:
    late = [f"{key} {settings[key]}" for key in ("adaptive-rx", "adaptive-tx") if settings.get(key) == "on"]
    for key in ("rx-usecs", "tx-usecs"):
        if settings.get(key, "").isdigit() and int(settings[key]) > _COALESCED_US:
            late.append(f"{key} {settings[key]}")
    if late:
        text = f"{device} holds interrupts back ({', '.join(late)}); expected at most {_COALESCED_US} us"
        yield "warning", f"{text}: ethtool -C {device} adaptive-rx off adaptive-tx off rx-usecs 0 tx-usecs 0"


def _queues(case: _Case) -> Found:
    names = [each.name for each in case.devices]
    judged = dict.fromkeys(
        (each["dev"], each["kind"], each["handle"]) for each in case.facts.qdiscs if each["dev"] in names and _is_top(each)
    )
    for device, kind, handle in judged:
        # A queue discipline that the kernel attaches by itself has no handle.
        if handle != "0:":
            remedy = f"tc qdisc del dev {device} {kind if kind in ('clsact', 'ingress') else 'root'}"
            text = f"{kind} {handle} is left on {device}; expected the kernel's default there"
            yield "error", f"{text}: `dumbbell testbed recover` if dumbbell left it, else {remedy}"
        elif kind not in DEFAULT_QUEUES:
            text = f"the queue of {device} is {kind}; expected one of {', '.join(DEFAULT_QUEUES)}"
            yield "error", f"{text}: set net.core.default_qdisc, and the device down and up"


def _is_top(qdisc: Mapping[str, Any]) -> bool:
    """True if it belongs to a device, is on one of the device's queues, or is a place for filters, and is not inside another one that
    somebody chose."""
    return bool(qdisc.get("root")) or str(qdisc.get("parent", "")).startswith((":", "ffff:"))


def _firewall(case: _Case) -> Found:
    if rules := case.facts.firewall:
        yield "warning", f"there are firewall rules ({', '.join(rules)}); expected none, since they cost time and may drop what is measured"
    if case.facts.connections_tracked:
        yield "warning", f"connections are tracked (nf_conntrack has {case.facts.connections_tracked}); expected none"


def _others(case: _Case) -> Found:
    ours = {str(each.address.ip) for each in case.interfaces}
    for line in case.facts.sockets:
        if line.split()[1].rpartition(":")[0] in ours:
            yield "warning", f"the data network has another user, {line}; expected none during runs"


def _processors(case: _Case) -> Found:
    processors, measured = case.facts.processors, case.measured
    if slow := [each for each in processors.governors if each != "performance"]:
        yield "warning", f"the processors' governor is {', '.join(slow)}; expected performance: cpupower frequency-set -g performance"
    if processors.load > processors.count:
        yield "warning", f"the load is {processors.load:g} on {processors.count} processors; expected at most one each"
    if processors.steal > _STEAL:
        yield (
            "warning",
            f"other machines have had its processors for {processors.steal:.1%} of the time (steal); expected at most {_STEAL:.0%}",
        )
    late = measured.lateness_p99_us
    if late is not None and late > _LATE_US:
        yield "warning", f"this machine is too busy: 1 % of timers are late by {late:g} us or more; expected at most {_LATE_US}"
    burst = case.needs.burst_us
    if late is not None and burst is not None and burst < late:
        yield (
            "warning",
            f"the shaper's burst lasts {burst:g} us, and timers are late by {late:g} us (p99): it will lose rate; expected a larger burst",
        )


def _clock(case: _Case) -> Found:
    worst = int(case.hosts.clock.worst)
    for what, value in (("is known to", case.measured.clock_uncertainty_ns), ("drifts by", case.measured.clock_drift_ns)):
        if value is not None and abs(value) > worst:
            level: Literal["error", "warning"] = "error" if abs(value) > _CLOCK_ERROR_NS else "warning"
            yield level, f"its clock {what} {abs(value) / 1e6:g} ms; expected at most clock.worst, {worst / 1e6:g} ms"
    if case.hosts.clock.sync == "ntp":
        tracking = case.facts.processors.tracking
        if tracking is None:
            yield "error", "chrony does not say that its clock is synchronised (clock.sync: ntp); expected chronyd to run"
        elif not tracking.endswith(("Normal", "Insert second", "Delete second")):
            yield "error", f"chrony says of its clock: {tracking.rpartition(',')[2]}; expected it to be synchronised (clock.sync: ntp)"


_CHECKS = (
    _account,
    _leftover,
    _interfaces,
    _control_route,
    _routes,
    _presence,
    _kernel,
    _hardware,
    _queues,
    _firewall,
    _others,
    _processors,
    _clock,
)


def lines(problems: Iterable[Problem], level: Literal["error", "warning"]) -> list[str]:
    """Return the lines about problems of one level."""
    return [str(each) for each in problems if each.level == level]
