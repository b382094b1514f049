"""Facts of a machine that decide what a run on it is worth. One call reads them and changes nothing.

`facts.sh` has the questions, and `facts_reading.py` reads the answers. TEACUP (`log_sysdata`) and Flent (`record_extended_metadata`) record
fewer of these facts. A fact that a machine cannot tell, because it lacks a tool or the hardware, is None.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from dumbbell.engines.linux import CONTROLS, DISCIPLINES
from dumbbell.engines.testbed.transport.base import Machine
from dumbbell.errors import EnvironmentFault

TRIED_OPTIONS: Mapping[str, str] = {
    "pfifo": "limit 100",
    "bfifo": "limit 15000",
    "red": "limit 100000 min 3000 max 9000 avpkt 1000 bandwidth 1mbit",
    "tbf": "rate 1mbit burst 2000 limit 10000",
    "netem": "delay 1ms",
}
"""Words without which tc does not ask the kernel."""
SHAPERS = ("tbf", "htb")
MATCHES: Mapping[str, str] = {"flower": "ip_proto tcp", "matchall": "classid 1:1", "u32": "match u32 0 0"}
"""Classifiers, with words that match."""
ACTIONS: Mapping[str, str] = {"mirred": "egress redirect dev lo", "gact": "continue"}
SECONDS = 30.0
"""Time in which a machine must answer, however busy."""
_NOT_SET = "tcp_available_congestion_control"
"""Sysctl that is not compared, because it grows with each module that is loaded, whoever asked for the module."""
_DEVICE = re.compile(r"(?!-)[A-Za-z0-9_.:-]{1,15}")
_ADDRESS = re.compile(r"[0-9a-fA-F.:]+")


@dataclass(frozen=True)
class Feature:
    """An offload."""

    on: bool
    fixed: bool
    """The driver cannot change it."""


@dataclass(frozen=True)
class Hardware:
    """ethtool's facts of a device. None if the driver lacks the property."""

    driver: Mapping[str, str]
    features: Mapping[str, Feature]
    speed_mbps: int | None
    duplex: str | None
    coalescing: Mapping[str, str] | None
    rings: Mapping[str, str] | None
    pause: Mapping[str, str] | None
    timestamping: tuple[str, ...] | None
    statistics: Mapping[str, int] | None


@dataclass(frozen=True)
class Device:
    """A network interface; ethtool's facts and its filters are asked for data devices alone."""

    name: str
    kind: str
    """Kind of a virtual device; empty for others."""
    up: bool
    carrier: bool
    mtu: int
    mac: str
    bus: str
    queue_packets: int | None
    gso_max_segs: int | None
    addresses: tuple[str, ...]
    """Addresses with lengths of prefix."""
    counters: Mapping[str, int]
    """`rx.packets` and so on."""
    hardware: Hardware | None = None
    filters: Mapping[str, tuple[Any, ...]] | None = None
    """Filters as tc shows them, by `ingress` and `egress`."""


@dataclass(frozen=True)
class Kernel:
    """A kernel."""

    release: str
    version: str
    architecture: str
    boot_id: str
    config: Mapping[str, str] | None
    """Options that decide how traffic goes."""
    sysctls: Mapping[str, str]
    modules: Mapping[str, str]
    """Parameters of congestion controls: `tcp_cubic.beta` -> value."""


@dataclass(frozen=True)
class Processors:
    """Processors and how busy they are."""

    count: int
    model: str | None
    governors: tuple[str, ...]
    """Different ones; none in a virtual machine."""
    load: float
    """Load of the last minute."""
    ticks: tuple[int, ...]
    """Ticks since the machine was booted: user, nice, system, idle, iowait, irq, softirq, steal ..."""
    clocksource: str | None
    tracking: str | None
    """chrony's report about the clock."""

    @property
    def steal(self) -> float:
        """Share of the time that another machine had this machine's processors, since booting."""
        return self.steal_since((0,) * len(self.ticks))

    def steal_since(self, ticks: tuple[int, ...]) -> float:
        """The same since an earlier reading."""
        spent = [now - then for then, now in zip(ticks, self.ticks, strict=True)][:8]  # guests' time, which follows, is in the user's too
        return spent[7] / sum(spent) if len(spent) > 7 and sum(spent) > 0 else 0.0


@dataclass(frozen=True)
class Presence:
    """Parts of the kernel that were tried in a namespace of its own: name -> empty if the kernel has the part, else the error message."""

    qdiscs: Mapping[str, str]
    filters: Mapping[str, str]
    actions: Mapping[str, str]
    controls: Mapping[str, str]


@dataclass(frozen=True)
class Leftover:
    """Remains of a session, alive or dead."""

    session: str | None
    """Whose."""
    changes: int
    """In the journal."""
    locked: bool
    namespaces: tuple[str, ...]
    """Dumbbell's, by their names."""


@dataclass(frozen=True)
class Account:
    """The user on the machine."""

    user: int
    capabilities: int
    tools: Mapping[str, str]
    """Name -> path."""
    free_bytes: int | None
    """Free bytes where sessions have their folders."""
    noexec: bool
    """Programs in that folder cannot be run."""
    memory_bytes: int | None
    controller: str | None
    """Address from which the control connection comes."""


@dataclass(frozen=True)
class Facts:
    """Facts of a machine."""

    kernel: Kernel
    processors: Processors
    account: Account
    devices: Mapping[str, Device]
    qdiscs: tuple[Mapping[str, Any], ...]
    """Queue disciplines as tc shows them."""
    neighbours: tuple[list[str], ...]
    """Neighbours as /proc/net/arp shows them."""
    routes: tuple[Mapping[str, Any], ...]
    ways: Mapping[str, Mapping[str, Any]]
    """Address -> the route to it."""
    firewall: tuple[str, ...] | None
    """Kinds of rules; None: cannot be seen."""
    connections_tracked: int
    sockets: tuple[str, ...]
    """Protocol, local and remote end, of those with a local address."""
    presence: Presence | None
    """None: nothing could be tried."""
    leftover: Leftover

    def plain(self) -> dict[str, Any]:
        """For a JSON file."""
        return asdict(self)

    def settings(self) -> Iterator[tuple[str, str]]:
        """Yield the settings that a run may change and has to restore, by names."""
        for prefix, values in (("sysctl ", self.kernel.sysctls), ("module parameter ", self.kernel.modules)):
            yield from ((prefix + name, value) for name, value in values.items() if not name.endswith(_NOT_SET))
        for device in self.devices.values():
            yield f"device {device.name}", ", ".join([device.kind, "up" if device.up else "down", device.mac, *device.addresses])
            yield f"mtu of {device.name}", str(device.mtu)
            yield f"gso_max_segs of {device.name}", str(device.gso_max_segs)
            if hardware := device.hardware:
                yield from ((f"{name} of {device.name}", "on" if each.on else "off") for name, each in hardware.features.items())
                for what, shown in (("coalescing", hardware.coalescing), ("rings", hardware.rings), ("pause", hardware.pause)):
                    yield from ((f"{what} {name} of {device.name}", value) for name, value in (shown or {}).items())
            yield from ((f"{hook} filters of {device.name}", str(len(found))) for hook, found in (device.filters or {}).items() if found)
        for qdisc in self.qdiscs:
            at = "root" if qdisc.get("root") else str(qdisc.get("parent", ""))
            yield f"qdisc of {qdisc['dev']} at {at}", f"{qdisc['kind']} {qdisc.get('options', {})}"
        for route in self.routes:
            yield f"route to {route.get('dst')} in {route.get('table', 'main')} by {route.get('dev')}", str(sorted(map(str, route.items())))
        for namespace in self.leftover.namespaces:
            yield f"namespace {namespace}", "there"
        yield "changes in the journal", str(self.leftover.changes)


def differences(before: Facts, after: Facts) -> list[str]:
    """Return the settings that a run changed and did not restore, a line each."""
    if before.kernel.boot_id != after.kernel.boot_id:
        return ["the machine has been booted in between"]
    one, other = dict(before.settings()), dict(after.settings())
    # Modules that came meanwhile bring parameters with them.
    other = {name: value for name, value in other.items() if name in one or not name.startswith("module parameter ")}
    return [
        f"{name}: {one.get(name, 'absent')} before, {other.get(name, 'absent')} after"
        for name in {**one, **other}
        if one.get(name) != other.get(name)
    ]


async def collect(machine: Machine, devices: Iterable[str] = (), addresses: Iterable[str] = (), before: Facts | None = None) -> Facts:
    """Ask a machine for its facts.

    Args:
        machine: The machine.
        devices: Those whose hardware and filters matter.
        addresses: Those whose routes matter.
        before: Earlier facts of the machine. Facts that do not change are not asked for again.

    Raises `EnvironmentFault` if the machine does not answer.
    """
    from dumbbell.engines.testbed.facts_reading import read_facts

    done = await machine.run(command(devices, addresses, everything=before is None), script(), SECONDS)
    try:
        facts = read_facts(done.out)
    except ValueError as error:
        said = done.err.decode(errors="replace").strip()
        raise EnvironmentFault(f"{machine.name}: cannot say what it is: {error}{f' ({said})' if said else ''}") from None
    return facts if before is None else _completed(facts, before)


def _completed(facts: Facts, before: Facts) -> Facts:
    """Return the facts with those that were not asked for again, unless the machine has been booted in between."""
    if facts.kernel.boot_id != before.kernel.boot_id:
        return facts
    devices = dict(facts.devices)
    for name, device in facts.devices.items():
        was = before.devices.get(name)
        if device.hardware and was and (old := was.hardware):
            kept = replace(device.hardware, driver=old.driver, rings=old.rings, pause=old.pause, timestamping=old.timestamping)
            devices[name] = replace(device, hardware=kept)
    return replace(facts, kernel=replace(facts.kernel, config=before.kernel.config), presence=before.presence, devices=devices)


def command(devices: Iterable[str], addresses: Iterable[str], *, everything: bool = True) -> list[str]:
    """The words that run the script on a machine."""
    words = [*((_DEVICE, "dev:", each) for each in devices), *((_ADDRESS, "to:", each) for each in addresses)]
    if wrong := [each for pattern, _, each in words if not pattern.fullmatch(each)]:
        raise ValueError(f"{wrong[0]!r}: expected a device or an address")
    return ["sh", "-s", "--", *(prefix + each for _, prefix, each in words), *(["all"] if everything else [])]


@cache
def script() -> bytes:
    """Return the input of `sh -s`."""
    tried = {"PROBE_TC": "\n".join(tc_lines().values()), "PROBE_IP": "\n".join(control_lines().values())}
    lists = "".join(f"{name}='{lines}'\n" for name, lines in tried.items())
    return (lists + resources.files(__package__).joinpath("facts.sh").read_text("utf-8")).encode()


@cache
def tc_lines() -> dict[tuple[str, str], str]:
    """Return tc's trial lines, for a namespace of its own: (what, name) -> line. A line comes after the lines that it needs."""
    kinds = dict.fromkeys((*(kind for kind in DISCIPLINES if kind != "tc"), *SHAPERS))
    # A batch names lines by number, and answers are kept: disciplines that came after 6.12 are tried last.
    late = [kind for kind in kinds if kind in DISCIPLINES and tuple(map(int, DISCIPLINES[kind].since.split("."))) > (6, 12)]
    lines = {("qdiscs", kind): _trial(kind) for kind in kinds if kind not in late}
    lines["qdiscs", "clsact"] = "qdisc add dev lo clsact"
    prefix = "filter add dev lo ingress protocol ip prio"
    for i, (name, match) in enumerate(MATCHES.items(), 1):
        lines["filters", name] = f"{prefix} {i} {name} {match}".rstrip()
    # Whichever classifier there is, with each action: one that takes it is enough.
    for name, words in ACTIONS.items():
        for i, (classifier, match) in enumerate(MATCHES.items(), len(lines)):
            lines[f"actions by {classifier}", name] = " ".join(f"{prefix} {i} {classifier} {match} action {name} {words}".split())
    return lines | {("qdiscs", kind): _trial(kind) for kind in late}


def _trial(kind: str) -> str:
    return f"qdisc replace dev lo root {kind} {TRIED_OPTIONS.get(kind, '')}".rstrip()


@cache
def control_lines() -> dict[str, str]:
    """A route with a congestion control has the kernel look for it, and load its module: name -> line of ip."""
    return {name: f"route add 127.77.0.{i}/32 dev lo congctl {name}" for i, name in enumerate(CONTROLS, 1)}
