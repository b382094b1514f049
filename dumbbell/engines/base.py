"""The interface of engines, and estimates that all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from dumbbell.engines.capabilities import Capabilities
from dumbbell.engines.prepared import Prepared
from dumbbell.errors import BadInput
from dumbbell.plan import RUN, Kept, Plan, Port, Queue, RateChange, Refusal, Traffic, Workload
from dumbbell.scenario import Duration, over_tcp
from dumbbell.scenario.check import is_random

if TYPE_CHECKING:
    from dumbbell.results import Run
    from dumbbell.scenario.model import Settings

_MOST_CAPTURED = 2_000_000
"""Data packets of a run whose packets are captured: they are in memory at once, with their ACKs and at both hosts (1 kB or so each)."""
_NS_PER_S = 10**9
_OWN_BUFFER = 32 << 20
"""The largest buffer of a kernel that has its own sizes, bytes (tcp_init() of Linux 7.3)."""
_HEADER_BYTES = 66
"""Bytes of Ethernet, IP and TCP headers with timestamps."""


class Engine(ABC):
    """Compiles plans and runs them."""

    name: str
    """Its name in scenarios and on the command line."""
    in_real_time: bool = False
    """A run takes as long as it lasts, needs its machines for itself, and is not the same twice."""
    refuses_seeds: bool = True
    """True if it may refuse a run because of the numbers drawn from its seed, so that each run is checked."""

    def variant(self, name: str) -> Engine:
        """Return the engine of one of the builds that this engine has several of. Raises `BadInput` if there is no such."""
        raise BadInput(f"the engine {self.name} has no variants such as {name!r}; expected {self.name}")

    @abstractmethod
    def capabilities(self) -> Capabilities:
        """Return the abilities of the engine. It costs nothing, and needs nothing installed."""

    @abstractmethod
    def require(self, plan: Plan | None = None) -> None:
        """Raise `EnvironmentFault` in one line if this machine lacks what a run of this plan needs; by default what every run needs."""

    @abstractmethod
    def compile(self, plan: Plan, kept: Kept | None = None, /) -> Any:
        """Compile a plan that the engine's table accepts. The result is plain data, the same on every machine. `kept`: see `plan.make`."""

    @abstractmethod
    def as_text(self, compiled: Any) -> str:
        """The compiled plan as text, which is part of the run's key."""

    @abstractmethod
    def sources(self, plan: Plan | None = None) -> tuple[str, ...]:
        """Return hashes of the sources that compute a run of this plan; by default of any. Raises `EnvironmentFault` if one is missing."""

    @abstractmethod
    def produce(self, prepared: Prepared) -> Run:
        """Computes a run. A crash gives a run of status `invalid` without counters."""

    @abstractmethod
    def cpu_s(self, plan: Plan) -> float:
        """Return the estimated cost of a run on a machine of usual speed, CPU seconds."""

    def slowness(self, _cpu_s: float) -> float:
        """Return how many times as long as on a machine of usual speed work takes here, which takes `_cpu_s` CPU seconds there."""
        return 1.0

    def refusals(self, plan: Plan, _compiled: Any) -> Iterator[Refusal]:
        """Refusals beyond those by the table of capabilities."""
        if plan.captures and (packets := expected_packets(plan)) > _MOST_CAPTURED:
            what = f"takes about {packets} packets in {Duration(plan.duration_ns)}"
            yield Refusal(RUN, "capture", what, f"at most {_MOST_CAPTURED}, by a shorter duration")

    def depends_on_seed(self, settings: Settings) -> bool:
        """True if another seed may give another run: the scenario draws random numbers, a congestion control does, or real time passes.

        A congestion control of the user's own has a seed to draw from, so that it always counts as random.
        """
        if self.in_real_time or is_random(settings):
            return True
        known, controls = self.capabilities().cc, [each.cc for each in over_tcp(settings)]
        return any(cc.library is not None or cc.function is not None or (cc.kind in known and known[cc.kind].draws) for cc in controls)


def expected_packets(plan: Plan) -> int:
    """Return about how many data packets a run delivers at most: the ways of data are full all the time, or all transfers complete.

    A way is limited by its slowest port, which all ways through it share. A way on which no port has a rate is limited by the windows of
    its connections, one a round trip.
    """
    over_tcp = [tcp for workload in plan.workloads if (tcp := workload.over) is not None]
    frame_bytes = min((tcp.frame_bytes for tcp in over_tcp), default=plan.frame_bytes)
    bits = most_bits(plan)
    limiting: set[int] = set()
    packets = 0
    for workload in plan.workloads:
        for ports, answers in ways_of_data(plan, workload):
            if limits := [(most, i) for i in ports if (most := bits[i]) is not None]:
                limiting.add(min(limits)[1])
            else:
                packets += _in_windows(plan, workload, ports, answers, bits)
    packets += sum(bits[i] or 0 for i in limiting) // (8 * frame_bytes)
    sizes = [workload.most_packets(plan.duration_ns) for workload in plan.workloads if workload.over is not None]
    if None not in sizes:
        packets = min(packets, sum(size or 0 for size in sizes))
    beside = (workload.most_packets(plan.duration_ns) for workload in plan.workloads if workload.over is None)
    return packets + sum(size or 0 for size in beside)


def ways_of_data(plan: Plan, workload: Workload) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """For each path and direction that a workload sends TCP data in: the ports of the data, and those of the ACKs."""
    if workload.over is None:
        return
    paths = workload.parameters.get("paths") if isinstance(workload, Traffic) else None
    for path in paths or [workload.path]:
        there, back = plan.paths[path].ways(workload.direction)
        yield there, back
        if isinstance(workload, Traffic) and workload.flows:  # an application over connections that stay open, whose ends both send
            yield back, there


def most_bits(plan: Plan) -> list[int | None]:
    """For each port, the bits that it lets through in a run, at most; None if it has no rate, or finds its own."""
    rates = [_rate_bps(port) for port in plan.ports]
    bits, since = [0] * len(rates), [0] * len(rates)
    for change in sorted(plan.schedule, key=lambda change: change.at_ns):
        if isinstance(change, RateChange) and (before := rates[change.port]) is not None:
            bits[change.port] += before * (change.at_ns - since[change.port])
            rates[change.port], since[change.port] = change.rate_bps, change.at_ns
    last = zip(rates, bits, since, strict=True)
    return [None if rate is None else (so_far + rate * (plan.duration_ns - at)) // _NS_PER_S for rate, so_far, at in last]


def _rate_bps(port: Port) -> int | None:
    """The rate of a port at the start; None if it has none, or finds its own."""
    finds_its_own = isinstance(port, Queue) and port.qdisc.get("more", {}).get("autorate_ingress")
    return None if finds_its_own else port.rate_bps


def _in_windows(plan: Plan, workload: Workload, ports: Sequence[int], answers: Sequence[int], bits: Sequence[int | None]) -> int:
    """Data packets of a workload whose data pass no port with a rate: a window of each connection in each round trip. This takes its
    delays, and at least the time of an ACK on the slowest port of the way back.
    """
    tcp = workload.over
    assert tcp is not None  # it has ways of data
    host = tcp.host
    window = (
        min(host.rcvbuf or max(host.rmem, default=_OWN_BUFFER), host.sndbuf or max(host.wmem, default=_OWN_BUFFER)) // tcp.segment_bytes + 1
    )
    delays_ns = sum(plan.ports[i].delay_ns for i in (*ports, *answers))
    slowest = min((most for i in answers if (most := bits[i])), default=None)
    ack_ns = 0 if slowest is None else 8 * _HEADER_BYTES * plan.duration_ns // slowest
    rounds = plan.duration_ns // max(delays_ns, ack_ns, 1) + 1
    return max(len(workload.flows), 1) * window * rounds


def measuring(plan: Plan) -> dict[int, Traffic]:
    """The streams of datagrams that measure, by their positions among all flows."""
    if not any(isinstance(workload, Traffic) for workload in plan.workloads):
        return {}
    return {
        i: workload for i, (workload, _) in enumerate(plan.flows) if isinstance(workload, Traffic) and workload.parameters.get("measured")
    }


def expected_samples(plan: Plan, engine: str) -> int:
    """Values of a run's series on an engine: times x series."""
    if not plan.sample_ns:
        return 0
    chosen = plan.series
    flows = sum([len(plan.workloads[i].flows) for i in chosen.flows])
    groups, shares = len(chosen.groups), len(chosen.shares) * (flows + len(chosen.groups))
    counts = ("flow", flows), ("group", groups), ("port", len(chosen.ports)), ("share", shares)
    series = sum([count * _series_count(kind, engine) for kind, count in counts if count])
    return (plan.duration_ns // plan.sample_ns + 1) * series + expected_measurements(plan)


def expected_measurements(plan: Plan) -> int:
    """Return how many of these values belong to the datagrams of streams that measure: delay and jitter of each, and the round trip of
    two."""
    if not plan.sample_ns:
        return 0
    streams = measuring(plan).values()
    return sum([(workload.packets or 0) * (5 if workload.parameters.get("reply") else 4) // 2 for workload in streams])


@cache
def _series_count(kind: str, engine: str) -> int:
    """The number of series that an engine samples of a kind of entity."""
    from dumbbell.results import schema

    return len(schema().sampled(kind, engine))
