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


def estimate(runs: Sequence[Prepared], workers: int | None = None, each: float = 1.0) -> Estimate:
    """The cost of runs on this machine; `each` is the number of runs that one of these stands for, if they are a sample. Runs in real time
    follow each other, however many workers there are.
    """
    workers = check_workers(workers)
    costs = [run.cpu_s for run in runs]
    packets = [expected_packets(run.plan) for run in runs]
    disk = sum(
        _RUN_BYTES + _SAMPLE_BYTES * expected_samples(run.plan, run.engine) + _CAPTURED_BYTES * _points(run) * count
        for run, count in zip(runs, packets, strict=True)
    )
    in_turn = [cost for run, cost in zip(runs, costs, strict=True) if engine(run.engine).in_real_time]
    at_once = [cost for run, cost in zip(runs, costs, strict=True) if not engine(run.engine).in_real_time]
    cpu_s = each * sum(costs)
    wall_s = each * sum(in_turn) + max(each * sum(at_once) / workers, max(at_once, default=0.0))
    return Estimate(round(each * sum(packets)), cpu_s, wall_s, workers, int(each * disk))


def _points(run: Prepared) -> float:
    """How often each packet is kept, the captures of both hosts counting as one."""
    kept = run.resolved.settings.capture
    return at_hosts(kept) + len(at_ports(kept)) / 2
