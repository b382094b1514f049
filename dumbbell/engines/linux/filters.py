"""Filters: from where packets come out to where they go next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from dumbbell.engines.linux.applications import by_address, served_ports
from dumbbell.engines.linux.devices import GATES, Devices, peer
from dumbbell.engines.linux.hosts import Hosts
from dumbbell.engines.linux.sources.arrivals import coming
from dumbbell.plan import Outage, Place, Plan, Refusal, Side, Tcp, Traffic
from dumbbell.plan.addresses import CLASS_PORTS

_Match = tuple[str, str, str]
"""Protocol, `src_port` or `dst_port`, and the port, or the lowest and the highest one. Source ports of the flows of a side differ. ICMP has
no ports: all ICMP of a side takes one way. A class of connections that come and go has destination ports of its own, which no flow has.
A program whose packets have no ports that are known is matched by the addresses of its hosts: protocol (`ip` for any), `between`, and both
with a blank between."""


HERE = "-"
"""In place of a device: the machine itself, which routes packets that come there."""
ENTRIES: Mapping[Side, str] = {"left": peer(GATES["left"]), "right": peer(GATES["right"])}
"""Devices at which packets of each side come to the ports, if both sides are on this machine."""
_SOURCE = "src_port"
_PRIORITIES = (1000, 900)
"""Priority of filters for one port, and of those for several: a kind of match has a priority of its own."""
_BETWEEN, _BETWEEN_PRIORITIES = "between", {"ip": 800, "icmp": 700}
"""Match by addresses, and the priorities of its filters."""


def hops(devices: Devices) -> Iterator[str]:
    """The devices whose filters hand packets on."""
    for device in (*devices.pairs, *GATES.values()):
        yield peer(device)


def filter_lines(
    plan: Plan, devices: Devices, hosts: Hosts, entries: Mapping[Side, str] = ENTRIES, hooked: Collection[str] = ()
) -> Iterator[str]:
    """Yield tc's lines for all of them.

    Args:
        plan: The run.
        devices: Those of its ports.
        hosts: Its hosts. A packet at the end of its way goes to the device named like its namespace, or to the machine
            itself if that is `HERE`.
        entries: By side the device at which its packets come in.
        hooked: Devices that have a place for filters already.
    """
    outages = [(i, peer(devices.queues[change.port])) for i, change in enumerate(plan.schedule) if isinstance(change, Outage)]
    for at, nexts in _nexts(plan, devices, hosts, entries).items():
        if at not in hooked:
            yield f"qdisc add dev {at} clsact"
        for i, device in outages:
            if device == at:
                yield f"filter add dev {at} ingress protocol ip prio {i + 1} matchall action gact continue index {i + 1}"
        common, _ = Counter(nexts.values()).most_common(1)[0]
        prefix = f"filter add dev {at} ingress protocol ip"
        for (protocol, field, port), to in nexts.items():
            if to != common and field == _BETWEEN:
                source, target = port.split()
                one = f"flower{'' if protocol == 'ip' else f' ip_proto {protocol}'} src_ip {source} dst_ip {target}"
                yield f"{prefix} prio {_BETWEEN_PRIORITIES[protocol]} {one} {_action(to)}"
            elif to != common:
                one = f"flower ip_proto {protocol}" + (f" {field} {port}" if protocol != "icmp" else "")
                yield f"{prefix} prio {_PRIORITIES['-' in port]} {one} {_action(to)}"
        if common != HERE:
            yield f"{prefix} prio 2000 matchall {_action(common)}"


def _action(to: str) -> str:
    """To a device, or on to where the packet was going."""
    return "action pass" if to == HERE else f"action mirred egress redirect dev {to}"


def ends_at(plan: Plan, devices: Devices, hosts: Hosts, entries: Mapping[Side, str]) -> dict[str, Side]:
    """The devices at which packets come out for the last time, each with the side that they come from."""
    found: dict[str, Side] = {}
    for side, entry in entries.items():
        reached, nexts = [entry], _nexts(plan, devices, hosts, entries)
        for at in reached:
            for to in nexts.get(at, {}).values():
                if to == HERE:
                    found[at] = side
                elif peer(to) not in reached:
                    reached.append(peer(to))
    return found


def ping_conflicts(plan: Plan) -> Iterator[Refusal]:
    """Pings on several paths: ICMP has no ports by which filters could tell them apart."""
    pings = [(i, workload.path) for i, workload in enumerate(plan.workloads) if workload.transport == "icmp"]
    for i, path in pings:
        if path != (first := pings[0][1]):
            what = f"is {plan.paths[path].id!r}, and another ping takes {plan.paths[first].id!r}"
            yield Refusal(Place("workload", i), "path", what, "one path for all pings, udp with reply: true, or engine: sim")


def _nexts(plan: Plan, devices: Devices, hosts: Hosts, entries: Mapping[Side, str]) -> dict[str, dict[_Match, str]]:
    """Device where packets come out to the device that they are handed to, by packet."""
    found: dict[str, dict[_Match, str]] = {}

    def lead(match: _Match, side: Side, ports: tuple[int, ...], target: str) -> None:
        at = entries[side]
        for port in ports:
            # Packets that come to a gate have passed their host's own queue.
            for device in (None if devices.on_host[port] else devices.queues[port], devices.delays[port]):
                if device is not None:
                    found.setdefault(at, {})[match] = device
                    at = peer(device)
        found.setdefault(at, {})[match] = target

    for workload, flow in plan.flows:
        data, acks = plan.paths[workload.path].ways(workload.direction)
        ends, protocol = hosts.ends(workload), workload.transport
        if isinstance(workload, Tcp) and (kind := by_address(workload)) is not None:
            there, here = ends.target_address, ends.source_address
            lead((kind, _BETWEEN, f"{here} {there}"), plan.hosts[workload.source].side, data, ends.target)
            lead((kind, _BETWEEN, f"{there} {here}"), plan.hosts[workload.target].side, acks, ends.source)
            continue
        lead((protocol, _SOURCE, str(flow.ports[0])), plan.hosts[workload.source].side, data, ends.target)
        if protocol == "tcp" or (isinstance(workload, Traffic) and workload.parameters["reply"]):
            lead((protocol, _SOURCE, str(flow.ports[1])), plan.hosts[workload.target].side, acks, ends.source)
        for end, port in served_ports(workload, flow):
            ways = [(plan.hosts[workload.source].side, data, ends.target), (plan.hosts[workload.target].side, acks, ends.source)]
            to_server, back = ways if end == "to" else ways[::-1]
            # Programs that send datagrams may agree on them by TCP, as iperf3 does.
            for each in dict.fromkeys((protocol, "tcp")):
                lead((each, "dst_port", str(port)), *to_server)
                lead((each, _SOURCE, str(port)), *back)
    for _, workload in coming(plan):
        ends, first = hosts.ends(workload), workload.parameters["ports"][1]
        for i, path in enumerate(workload.parameters.get("paths", [workload.path])):
            data, acks = plan.paths[path].ways(workload.direction)
            ports = f"{first + i * CLASS_PORTS}-{first + (i + 1) * CLASS_PORTS - 1}"
            lead(("tcp", "dst_port", ports), plan.hosts[workload.source].side, data, ends.target)
            lead(("tcp", _SOURCE, ports), plan.hosts[workload.target].side, acks, ends.source)
    return found
