"""The machines of a laboratory, the wires between their devices, and their network settings. Nothing here acts.

The addresses are private (RFC 1918) on the data side, and for documentation (RFC 5737) on the control side, where nobody else has one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

MOST_HOSTS = 50
"""Hosts of a side."""
BRIDGE = "control"
"""The bridge of the control network, where the controller has an address as well."""
CONTROLLER = "192.0.2.1"
_CONTROL = "192.0.2.{}"
_ROUTER = 2
_SIDES = {"left": (10, "10.1.0"), "right": (130, "10.2.0")}
"""For each side: the number before the first host's number on the control network, and the network of its data link."""
_GATEWAY = 254
_RIGHT_OF = {"left": "right", "right": "left"}


@dataclass(frozen=True)
class Port:
    """A device of a machine on a data link."""

    device: str
    side: str
    """Whose link it is: left or right."""
    address: str
    """With the length of the prefix."""
    mac: str
    tap: str
    """The device in the side's bridge, if the side has one."""


@dataclass(frozen=True)
class Machine:
    """A guest."""

    name: str
    role: str
    control: str
    """Its address on the control network."""
    control_mac: str
    control_tap: str
    ports: tuple[Port, ...]


def machines(left: int, right: int) -> list[Machine]:
    """The router, then the left hosts, then the right ones."""
    both = (_port("left", _GATEWAY, 1), _port("right", _GATEWAY, 2))
    found = [_machine("router", "router", _ROUTER, both)]
    for side, count in (("left", left), ("right", right)):
        for i in range(1, count + 1):
            found.append(_machine(f"{side}{i}", side, _SIDES[side][0] + i, (_port(side, i, 1),)))
    return found


def _machine(name: str, role: str, number: int, ports: tuple[Port, ...]) -> Machine:
    return Machine(name, role, _CONTROL.format(number), f"02:00:00:00:00:{number:02x}", f"c-{name}", ports)


def _port(side: str, number: int, device: int) -> Port:
    offset, network = _SIDES[side]
    who = "router" if number == _GATEWAY else f"{side}{number}"
    last = (offset if number == _GATEWAY else offset + number) & 0xFF
    return Port(f"vec{device}", side, f"{network}.{number}/24", f"02:00:00:00:01:{last:02x}", f"{side[0]}-{who}")


def bridged(found: list[Machine], side: str) -> bool:
    """True if a side has more than one host and therefore a bridge. Otherwise its host and the router are wired to each other."""
    return sum(machine.role == side for machine in found) > 1


def host_lines(found: list[Machine]) -> Iterator[str]:
    """Return lines for `ip -batch` in the laboratory's namespace: bridges and the devices plugged into them."""
    yield "link set dev lo up"
    yield from _bridge(BRIDGE, [machine.control_tap for machine in found])
    yield f"address add {CONTROLLER}/24 dev {BRIDGE}"
    for side in _SIDES:
        if bridged(found, side):
            yield from _bridge(side, [port.tap for machine in found for port in machine.ports if port.side == side])


def _bridge(name: str, taps: list[str]) -> Iterator[str]:
    yield f"link add name {name} up type bridge"
    # A guest's ring is short: the packets that a large segment is cut into behind the bridge overflow it.
    yield f"link set dev {name} gso_max_segs 1"
    for tap in taps:
        yield f"tuntap add dev {tap} mode tap"
        yield f"link set dev {tap} up master {name}"


def guest_lines(machine: Machine) -> Iterator[str]:
    """Lines for `ip -batch` in a guest."""
    yield "link set dev lo up"
    for device, address in (("vec0", f"{machine.control}/24"), *((port.device, port.address) for port in machine.ports)):
        yield f"address add {address} dev {device}"
        yield f"link set dev {device} up"
    if machine.role != "router":
        there, here = (_SIDES[side][1] for side in (_RIGHT_OF[machine.role], machine.role))
        yield f"route add {there}.0/24 via {here}.{_GATEWAY}"


def sysctls(machine: Machine) -> str:
    """Lines of a value and the file in /proc/sys that gets it."""
    return "1 /proc/sys/net/ipv4/ip_forward\n" if machine.role == "router" else ""


def kernel_arguments(machine: Machine, wires: dict[str, int]) -> Iterator[str]:
    """The devices of a guest, on its kernel's command line. `wires` has the descriptor by the device, of those that are no taps."""
    yield f"vec0:transport=tap,ifname={machine.control_tap},depth=64,gro=0,mac={machine.control_mac}"
    for port in machine.ports:
        wire = f"transport=fd,fd={wires[port.device]}" if port.device in wires else f"transport=tap,ifname={port.tap}"
        yield f"{port.device}:{wire},depth=64,gro=0,mac={port.mac}"


def hosts_file(found: list[Machine]) -> str:
    """The text of the hosts file, in the folder of the keys."""
    lines = ["control: {known_hosts: known_hosts, key: id, user: root}", "clock: {sync: agent, worst: 5ms}", "machines:"]
    for machine in found:
        ports = {
            port.side if machine.role == "router" else "data": {"device": port.device, "address": port.address} for port in machine.ports
        }
        lines.append(f"  {machine.name}: {json.dumps({'at': f'ssh://{machine.control}', 'role': machine.role, **ports})}")
    return "\n".join((*lines, ""))


def ssh_config(found: list[Machine], folder: str) -> str:
    """A configuration of the OpenSSH client, so that `ssh -F FILE router` gets there."""
    common = f"  User root\n  IdentityFile {folder}/id\n  IdentitiesOnly yes\n  UserKnownHostsFile {folder}/known_hosts\n  BatchMode yes\n"
    return "".join(f"Host {machine.name}\n  HostName {machine.control}\n{common}" for machine in found)
