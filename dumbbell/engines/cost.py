"""What runs cost, estimated before they are started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dumbbell.engines import engine
from dumbbell.engines.base import expected_measurements, expected_packets, expected_samples
from dumbbell.engines.prepared import Prepared
from dumbbell.executor import check_workers
from dumbbell.scenario.captures import at_hosts, at_ports

# Measured on sweeps of 10 to 200 runs of the simulator through the whole command, on ext4 with blocks of 4 KiB.
_KEPT_CPU_S = 0.007
"""Of what is done for a run before and after it is computed: preparing, writing, the summary, reading it for the tables. By one thread."""
_KEPT_WALL_S = 0.01
"""The same with the time until the disk has it."""
_SAMPLE_CPU_S = 80e-9
"""Writing a sample."""
_RUN_BYTES = 9_500
"""run.json, host.json and series.parquet of no flows, and what the list of runs and the index have of it."""
_BLOCKS_BYTES = 10_000
"""The run's folder, and what its files leave of their last blocks."""
_PACKED_CPU_S = 0.0005
"""As `_KEPT_CPU_S` where workers of a cluster make packs: of the one process that has the store. Measured with 5,000 runs."""
_PACKED_BYTES = 500
"""As `_RUN_BYTES` and `_BLOCKS_BYTES` together, of a run in a pack."""
_PACKED_FLOW_BYTES = 150
_PACKED_SAMPLE_BYTES = 0.8
_FLOW_BYTES = 400
_SAMPLE_BYTES = 1.5
"""Of a sample in series.parquet, compressed."""
_MEASURED_BYTES = 9.0
"""Likewise of a value of a datagram that measures: its time and it are as good as random."""
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


def estimate(runs: Sequence[Prepared], workers: int | None = None, counts: Sequence[float] | None = None, packed: bool = False) -> Estimate:
    """The cost of runs on this machine, or by workers like it; `counts` are the numbers of runs that each of these stands for, by default
    one. Runs in real time follow each other, however many workers there are. `packed`: the workers are a cluster's, and send packs.
    """
    workers = check_workers(workers)
    several = list(zip(runs, [1.0] * len(runs) if counts is None else counts, strict=True))
    packets = [(run, expected_packets(run.plan), count) for run, count in several]
    disk = sum((_bytes(run, packed) + _CAPTURED_BYTES * _points(run) * each) * count for run, each, count in packets)
    costs = [(engine(run.engine).in_real_time, run.cpu_s, count) for run, count in several]
    in_turn = sum(cost * count for real, cost, count in costs if real)
    at_once = sum(cost * count for real, cost, count in costs if not real)
    longest = max((cost for real, cost, count in costs if not real and count), default=0.0)
    kept = sum(_KEPT_CPU_S * count + _SAMPLE_CPU_S * count * expected_samples(run.plan, run.engine) for run, count in several)
    number = sum(count for _, count in several)
    # One thread keeps runs while the others are computed.
    alone = _PACKED_CPU_S * number if packed else kept + (_KEPT_WALL_S - _KEPT_CPU_S) * number
    wall_s = in_turn + max((at_once + kept) / workers, alone, longest)
    return Estimate(round(sum(each * count for _, each, count in packets)), in_turn + at_once + kept, wall_s, workers, int(disk))


def _bytes(run: Prepared, packed: bool) -> float:
    """What a run takes on the disk, without captures."""
    measured = expected_measurements(run.plan)
    samples = expected_samples(run.plan, run.engine) - measured
    flows = sum(len(workload.flows) for workload in run.plan.workloads)
    if packed and not run.resolved.settings.capture:
        return _PACKED_BYTES + _PACKED_FLOW_BYTES * flows + _PACKED_SAMPLE_BYTES * samples + _MEASURED_BYTES * measured
    return _RUN_BYTES + _BLOCKS_BYTES + _FLOW_BYTES * flows + _SAMPLE_BYTES * samples + _MEASURED_BYTES * measured


def _points(run: Prepared) -> float:
    """How often each packet is kept, the captures of both hosts counting as one."""
    kept = run.resolved.settings.capture
    return at_hosts(kept) + len(at_ports(kept)) / 2
