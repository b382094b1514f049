"""Devices: the places of a plan's ports.

    left hosts                         namespace net                                  right hosts
    lK eth0 --- lK > gl --- hl | p0 --- q0 | p1 --- q1 | x1 --- y1 | ... | rK --- eth0 rK

Every port is a veth pair of its own in `net`: the queue discipline is on pN, and packets that come out of qN are handed (tc mirred) to the
next port of their flow or to its host. So any list of ports is a path. A port with a propagation delay has a second pair, xN and yN, with
netem. A host's own queue is on its eth0 instead (`hosts`): only there does TCP learn of drops and wait for packets to leave.

The shaper `link` (store and forward) is htb with next to no bucket, which takes a packet when the link is free, followed by netem with the
same rate, which gives the packet out when its last bit has passed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dumbbell.engines.linux.qdiscs import leaf, link_delay
from dumbbell.plan import Plan, Side

NET = "net"
"""The namespace of the ports."""
GATES = {"left": "gl", "right": "gr"}
"""Devices that packets from either side are routed to."""


@dataclass(frozen=True)
class Devices:
    """Devices of all ports, by the port's position in the plan."""

    queues: tuple[str, ...]
    """The device with the queue discipline; of a host's own queue the host's namespace, whose eth0 has it."""
    on_host: tuple[bool, ...]
    """True for a host's own queue."""
    delays: tuple[str | None, ...]
    """The device with the propagation delay, if there is one."""
    leaves: tuple[str, ...]
    """The handle of the qdisc that drops and marks."""
    pairs: tuple[str, ...] = field(init=False)
    """The named ends of all pairs: queues that are on no host, then delays."""

    def __post_init__(self) -> None:
        queues = (device for device, on_host in zip(self.queues, self.on_host, strict=True) if not on_host)
        object.__setattr__(self, "pairs", (*queues, *(device for device in self.delays if device)))

    @classmethod
    def of(cls, plan: Plan) -> Devices:
        """Return the devices of a plan."""
        numbered = list(enumerate(plan.ports))
        sides = {host.egress: host.side for host in plan.hosts if host.egress is not None}
        return cls(
            tuple(own_name(sides[i], i) if i in sides else f"p{i}" for i, _ in numbered),
            tuple(i in sides for i, _ in numbered),
            tuple(f"x{i}" if link_delay(port) else None for i, port in numbered),
            tuple(leaf(port) for _, port in numbered),
        )


def own_name(side: Side, port: int) -> str:
    """The namespace of a host whose own queue is a port of the plan."""
    return f"{side[0]}e{port}"


def peer(device: str) -> str:
    """The other end of a device's pair."""
    return {"p": "q", "x": "y", "g": "h"}[device[0]] + device[1:]
