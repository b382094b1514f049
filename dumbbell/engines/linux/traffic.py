"""The agent's script about traffic: a line for each flow, and what cuts it off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dumbbell.engines.linux.hosts import Hosts
from dumbbell.plan import Connection, Plan, Tcp, Traffic, Workload
from dumbbell.scenario.background import KINDS

_HEADERS = 42
"""Ethernet, IP and UDP, bytes."""
_DOUBLED = 2
"""What Linux makes of the size of a socket buffer that it is asked for; a plan has what comes of it."""


def traffic_lines(plan: Plan, hosts: Hosts) -> Iterator[str]:
    """A flow of TCP that is stopped early is cut off by a filter on its host: its packets end there, as if it had been unplugged."""
    cut: set[str] = set()
    for i, (workload, flow) in enumerate(plan.flows):
        numbers = _LINES[workload.kind]
        yield _words(workload.kind, *_ends(hosts, workload, flow), flow.start_ns, _or_never(flow.stop_ns), *numbers(workload))
        if flow.stop_ns is not None and workload.transport == "tcp":
            name = hosts.ends(workload).source
            if name not in cut:
                cut.add(name)
                yield f"run {name} - tc qdisc add dev eth0 clsact"
            match = f"flower ip_proto tcp src_port {flow.ports[0]}"
            yield f"at {flow.stop_ns} {name} - tc filter add dev eth0 egress protocol ip prio {i + 1} {match} action drop"


def _tcp(tcp: Tcp) -> Iterable[object]:
    """Congestion control, size, buffers."""
    buffers = [0 if size is None else size // _DOUBLED for size in (tcp.host.sndbuf, tcp.host.rcvbuf)]
    return (tcp.cc["kind"], _or_never(tcp.transfer_bytes), *buffers)


def _udp(udp: Traffic) -> Iterable[object]:
    """Interval and payload."""
    return (udp.parameters["interval_ns"], udp.parameters["size_bytes"] - _HEADERS)


_LINES: Mapping[str, Callable[[Any], Iterable[object]]] = {"tcp": _tcp, "udp": _udp}
"""By kind of workload, which is the agent's word for it: what follows ends and times."""
FEATURES = tuple(KINDS[kind].feature for kind in _LINES if kind in KINDS)
"""What tables of capabilities call these kinds."""


def _ends(hosts: Hosts, workload: Workload, flow: Connection) -> Iterable[object]:
    ends = hosts.ends(workload)
    return (ends.source, ends.target, ends.source_address, ends.target_address, *flow.ports)


def _or_never(number: int | None) -> int:
    return -1 if number is None else number


def _words(*words: object) -> str:
    return " ".join(map(str, words))
