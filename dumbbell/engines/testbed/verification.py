"""A check that the paths between machines are those of the plan: pure functions. `probe.c` asks before anything else is sent.

Each path is asked from both its ends, by packets with the ports of one of its flows, because filters tell flows apart by ports. Without
queues a round trip takes the sum of the delays of all ports on the way there and back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from dumbbell.engines.linux.applications import served_ports
from dumbbell.engines.linux.sources.arrivals import coming
from dumbbell.engines.testbed.deployment import Deployment
from dumbbell.plan import Link, Plan, Port, Queue, Workload
from dumbbell.plan.addresses import CLASS_PORTS

T = TypeVar("T")
TOLERANCE_NS = 1_000_000
"""Tolerance of a round trip, for machines, wires and switches."""
_SMALL_BYTES = 100
"""More than a frame with a SYN or with the answer that refuses it."""
_EARLY_NS, _EARLY_SHARE = 10_000, 2000
"""The kernel counts delays in ticks of 64 ns. Clocks of machines go at rates that differ by up to one part in this number (adjtime)."""
_FREE, _UNUSED = 0, 9
"""The port that a client may choose; one that nobody listens at (discard)."""
_COMMAND = "tc"
_UNKNOWN = {"jitter", "reorder"}
"""Faults by which packets take other times than the delay."""


@dataclass(frozen=True)
class Question:
    """Asked on one machine of another."""

    machine: str
    other: str
    path: str
    """Id of the plan's path. Empty: the path that packets of no port take."""
    words: str
    """The question as `probe.c` reads it."""
    least_ns: int | None = None
    """Minimum of a round trip; None: any."""
    most_ns: int | None = None
    may_be_lost: bool = False
    """The path loses packets, perhaps all tries."""

    def wrong(self, took_ns: int) -> str | None:
        """Return the error in an answer, in one line."""
        if took_ns < 0 and self.may_be_lost:
            return None
        if not self.path:
            _, _, to, size, _ = self.words.split()
            said = f"a packet of {size} bytes does not come back from {self.other} ({to})"
            return f"{said}; expected that MTU all the way, and echo requests to be answered" if took_ns < 0 else None
        if took_ns < 0:
            return f"nothing comes back from {self.other} ({self.path}); expected the router to hand it on, and no firewall"
        if self.least_ns is None or self.most_ns is None or self.least_ns <= took_ns <= self.most_ns:
            return None
        expected = f"{self.least_ns / 1e6:.3g} to {self.most_ns / 1e6:.3g} ms"
        what = f"a round trip to {self.other} ({self.path}) takes {took_ns / 1e6:.3g} ms without other traffic"
        return f"{what}; expected {expected}: the path is not as configured"


def questions(plan: Plan, deployment: Deployment, late_us: float) -> list[Question]:
    """All that is asked; `late_us`: how late timers of the router are (99th percentile), of which each delay takes one."""
    addresses = {name: written.partition("/")[0] for name, written in deployment.facts["addresses"].items()}
    longest_ns = max((_bounds(plan, path, late_us)[1] for _, path, _ in _ways(plan)), default=TOLERANCE_NS)
    found: dict[tuple[str, ...], Question] = {}
    losing = [_loses(plan, path) for path in range(len(plan.paths))]
    for workload in plan.workloads:
        for machine, other in _both(deployment.ends[workload.id]):
            words = f"icmp {addresses[machine]} {addresses[other]} {plan.mtu_bytes} {longest_ns}"
            found.setdefault((machine, other), Question(machine, other, "", words, may_be_lost=any(losing)))
    for workload, path, ports in _ways(plan):
        ends = deployment.ends[workload.id]
        least_ns, most_ns = _bounds(plan, path, late_us)
        expected: tuple[int | None, int | None] = (least_ns, most_ns) if _is_known(plan, path) else (None, None)
        for (machine, other), (port, to) in zip(_both(ends), _both(ports), strict=True):
            # A port that is a destination needs a number.
            words = f"tcp {addresses[machine]} {port if port != _UNUSED else _FREE} {addresses[other]} {to} {most_ns}"
            key = machine, other, plan.paths[path].id, workload.direction
            found.setdefault(key, Question(machine, other, plan.paths[path].id, words, *expected, may_be_lost=losing[path]))
    return list(found.values())


def problems(asked: Iterable[Question], answers: Mapping[str, list[int]]) -> list[str]:
    """A line for each question with a wrong answer; `answers`: ns, by machine, in the order of its questions."""
    left = {machine: iter(took_ns) for machine, took_ns in answers.items()}
    wrong = ((each.machine, each.wrong(next(left[each.machine]))) for each in asked)
    return [f"{machine}: {text}" for machine, text in wrong if text]


def _both(pair: tuple[T, T]) -> tuple[tuple[T, T], tuple[T, T]]:
    return pair, (pair[1], pair[0])


def _ways(plan: Plan) -> Iterator[tuple[Workload, int, tuple[int, int]]]:
    """Workloads over TCP with a path, and the ports by which filters know them: of the data's source and target."""
    for workload, flow in plan.flows:
        if workload.over is None:
            continue
        served = list(served_ports(workload, flow))
        for end, port in served:
            yield workload, workload.path, (_UNUSED, port) if end == "to" else (port, _UNUSED)
        if not served:
            yield workload, workload.path, flow.ports
    for _, workload in coming(plan):
        source, target = workload.parameters["ports"]
        for i, path in enumerate(workload.parameters.get("paths", [workload.path])):
            yield workload, path, (source, target + i * CLASS_PORTS)


def _ports(plan: Plan, path: int) -> Iterator[Port]:
    way = plan.paths[path]
    return (plan.ports[i] for i in chain(way.forward, way.reverse))


def _bounds(plan: Plan, path: int, late_us: float) -> tuple[int, int]:
    """Least and most time of a round trip."""
    ports = list(_ports(plan, path))
    delays_ns = sum(port.delay_ns + _queueing_ns(port) for port in ports)
    links = [port for port in ports if isinstance(port, Link)]
    more_ns = sum(port.coalesce_ns or 0 for port in links)
    more_ns += sum(8 * _SMALL_BYTES * 10**9 // port.rate_bps for port in links if port.rate_bps)
    more_ns += round(1000 * late_us * sum((port.delay_ns > 0) + (_queueing_ns(port) > 0) for port in ports))
    return delays_ns - _EARLY_NS - delays_ns // _EARLY_SHARE, delays_ns + more_ns + TOLERANCE_NS


def _queueing_ns(port: Port) -> int:
    """The delay of a queue that exists without others' packets: netem's."""
    return int(port.qdisc.get("delay_ns", 0)) if isinstance(port, Queue) and port.qdisc["kind"] == "netem" else 0


def _loses(plan: Plan, path: int) -> bool:
    """True if packets are lost on purpose."""
    return any("loss" in (port.faults or ()) if isinstance(port, Link) else "loss" in port.qdisc for port in _ports(plan, path))


def _is_known(plan: Plan, path: int) -> bool:
    """True if each packet takes the delays of its ports. Nobody knows the delay of a queue that a command for tc makes."""
    return not any(
        port.own_rtt or _UNKNOWN & set(port.faults or ()) if isinstance(port, Link) else port.qdisc["kind"] == _COMMAND
        for port in _ports(plan, path)
    )
