"""Chooses the addresses of hosts and the TCP and UDP ports of connections; everything else reads them in the plan."""

from __future__ import annotations

from typing import Literal

SUBNETS = {"left": "10.1", "right": "10.2"}
"""The first two bytes of the addresses of a side's hosts."""

Listeners = Literal["shared", "own"]
"""`shared`: connections to one host share a port that is listened on. `own`: each has a port."""

_SOURCES, _SOURCE = 50_000, 10_000
_SHARED = 5_000
_COMING, _COMING_EACH = 20_000, 1_000
"""Ports that the first workload's connections go to that are made while the run goes on, and how many ports each workload has."""
_OWN = {"left": 10_000, "right": 30_000}
_OWN_COMING, OWN_COMING_EACH, MOST_OWN_COMING = 60_000, 256, 1_000
"""Ports for connections with listeners of their own: the first port, the number for each workload, and the maximum of connections."""
CLASS_PORTS = 4
"""Destination ports of each class of connections that come and go."""
OWN_LISTENERS = 20_000
"""Most connections with listeners of their own: then the ports of the two sides do not overlap."""


def address(side: str, number: int) -> str:
    """The IPv4 address of a host."""
    return f"{SUBNETS[side]}.{number >> 8 & 255}.{number & 255}"


def ports(listeners: Listeners, index: int, direction: str) -> tuple[int, int]:
    """Return source and destination port of the data of a connection or a stream of datagrams.

    Args:
        listeners: From the engine's table.
        index: Among all of a run, TCP before UDP.
        direction: Of the data, `forward` or `reverse`.
    """
    if listeners == "shared":
        return _SOURCE + index % _SOURCES, _SHARED + index // _SOURCES
    left, right = _OWN["left"] + index, _OWN["right"] + index
    return (left, right) if direction == "forward" else (right, left)


def coming_ports(listeners: Listeners, index: int, direction: str) -> dict[str, list[int]]:
    """Return the ports of the connections that a workload makes during the run: source and destination port of the first one, and the range
    of their source ports. If connections have listeners of their own, these source ports do not overlap with them.

    Args:
        listeners: From the engine's table.
        index: Position of the workload among those that make connections.
        direction: Of the data, `forward` or `reverse`.
    """
    if listeners == "shared":
        return {"ports": [_SOURCE, _COMING + index * _COMING_EACH]}
    least = _OWN["left" if direction == "forward" else "right"] + MOST_OWN_COMING
    return {"ports": [least, _OWN_COMING + index * OWN_COMING_EACH], "source_ports": [least, _OWN_COMING - 1]}
