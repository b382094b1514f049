"""Datagrams for Linux, apart from their lines: the times of those not evenly spaced, and the lines that show which were under way."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from dumbbell.engines.base import measuring
from dumbbell.engines.linux.hosts import Hosts
from dumbbell.native import native
from dumbbell.plan import Plan, Traffic, Workload

HEADERS = 42
"""Ethernet, IP and UDP or an ICMP echo, bytes."""
_LAST_PRIO = 60_000


def list_files(plan: Plan) -> dict[str, str]:
    """The files that list when the datagrams of a stream are sent and their payload, as the simulator draws them."""
    if not any(map(is_listed, plan.workloads)):
        return {}
    found: dict[str, str] = {}
    by_name = {name: (times, sizes) for name, times, sizes in native().datagrams(json.dumps(_drawable(plan)))}
    for i, (workload, flow) in enumerate(plan.flows):
        if is_listed(workload):
            times, sizes = (np.frombuffer(each, dtype="<u8").tolist() for each in by_name[flow.name])
            found[list_name(i)] = "".join(f"{time} {size - HEADERS}\n" for time, size in zip(times, sizes, strict=True))
    return found


def _drawable(plan: Plan) -> dict[str, Any]:
    """Return the plan with only the parts that the datagrams depend on: the simulator need not know the rest of the engine's plan."""
    return {**plan.plain(workloads=False), "workloads": [each.plain() for each in plan.workloads if is_listed(each)], "series": None}


def list_name(i: int) -> str:
    """Return the name of the file of flow `i`."""
    return f"datagrams-of-{i}"


def is_listed(workload: Workload) -> bool:
    """True if the times and sizes of datagrams are listed, because they are not evenly spaced."""
    if not isinstance(workload, Traffic) or workload.over is not None:
        return False
    numbers = (workload.parameters["interval_ns"], workload.parameters["size_bytes"])
    return workload.parameters["bursts"] is not None or not all(isinstance(number, int) for number in numbers)


def cut_off(device: str, priority: int = _LAST_PRIO) -> str:
    """The command after which no TCP leaves by a device."""
    return f"tc filter add dev {device} egress protocol ip prio {priority} flower ip_proto tcp action drop"


def drain_lines(plan: Plan, hosts: Hosts, before: Collection[str]) -> Iterator[str]:
    """Yield the agent's lines after a run with streams that measure: they cut TCP off, so that the queues run empty and show which
    datagrams were under way.

    Args:
        plan: The plan.
        hosts: Its hosts.
        before: The lines so far.
    """
    if not measuring(plan):
        return
    for host in hosts.namespaces:
        if (line := f"run {host.name} - tc qdisc add dev eth0 clsact") not in before:
            yield line
        yield f"run {host.name} - {cut_off('eth0')}"
    yield "drain"
