"""Captures at points of the path: the packets that come out of ports, at the far end of the last of their devices."""

from __future__ import annotations

from collections.abc import Iterator

from dumbbell.engines.linux.devices import NET, Devices, peer
from dumbbell.plan import RUN, Outage, Plan, Refusal


def point_lines(plan: Plan, devices: Devices) -> Iterator[tuple[str, ...]]:
    """Yield for each point the namespace, the file, and the devices at which packets arrive."""
    for ports in plan.captured_ports:
        ends = (peer(devices.delays[port] or devices.queues[port]) for port in ports)
        yield NET, f"port-{plan.ports[ports[0]].id}.pcap", *ends


def point_conflicts(plan: Plan) -> Iterator[Refusal]:
    """Outages of ports without a delay: packets are lost at the end of their only device, behind those who capture there."""
    devices = Devices.of(plan)
    cut = {change.port for change in plan.schedule if isinstance(change, Outage)}
    for port in (port for ports in plan.captured_ports for port in ports):
        if port in cut and not devices.delays[port]:
            what = f"the outage of {plan.ports[port].id!r} is behind the capture there, since it has no propagation delay"
            yield Refusal(RUN, "capture", what, "another point, or engine: sim")
