"""What runs cost, estimated before they are started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dumbbell.engines import engine
from dumbbell.engines.base import expected_packets, expected_samples
from dumbbell.engines.prepared import Prepared
from dumbbell.executor import check_workers
from dumbbell.scenario.captures import at_hosts, at_ports

_RUN_BYTES = 7_500
"""run.json and host.json of a few flows."""
_SAMPLE_BYTES = 2.5
"""Of a sample in series.parquet, compressed."""
_CAPTURED_BYTES = 400
"""Of a data packet and its ACKs in the captures of both hosts, or of two points of the path, at most."""


@dataclass(frozen=True)
class Estimate:
    """Of several runs."""

    packets: int
    """Data packets delivered, at most."""
    cpu_s: float
    wall_s: float
    workers: int
    disk_bytes: int


def estimate(runs: Sequence[Prepared], workers: int | None = None, counts: Sequence[float] | None = None) -> Estimate:
    """The cost of runs on this machine; `counts` are the numbers of runs that each of these stands for, by default one. Runs in real time
    follow each other, however many workers there are.
    """
    workers = check_workers(workers)
    several = list(zip(runs, [1.0] * len(runs) if counts is None else counts, strict=True))
    packets = [(run, expected_packets(run.plan), count) for run, count in several]
    disk = sum(
        (_RUN_BYTES + _SAMPLE_BYTES * expected_samples(run.plan, run.engine) + _CAPTURED_BYTES * _points(run) * each) * count
        for run, each, count in packets
    )
    costs = [(engine(run.engine).in_real_time, run.cpu_s, count) for run, count in several]
    in_turn = sum(cost * count for real, cost, count in costs if real)
    at_once = sum(cost * count for real, cost, count in costs if not real)
    longest = max((cost for real, cost, count in costs if not real and count), default=0.0)
    wall_s = in_turn + max(at_once / workers, longest)
    return Estimate(round(sum(each * count for _, each, count in packets)), in_turn + at_once, wall_s, workers, int(disk))


def _points(run: Prepared) -> float:
    """How often each packet is kept, the captures of both hosts counting as one."""
    kept = run.resolved.settings.capture
    return at_hosts(kept) + len(at_ports(kept)) / 2
