"""Costs of runs, estimated before they start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from dumbbell.engines import engine
from dumbbell.engines.base import expected_measurements, expected_packets, expected_samples
from dumbbell.engines.prepared import Prepared
from dumbbell.executor import check_workers
from dumbbell.running.cluster.queue import BATCH_S, LEAST_PACK
from dumbbell.scenario.series import at_hosts, at_ports

# Measured on sweeps of 10 to 200 runs of the simulator through the whole command, on ext4 with blocks of 4 KiB.
_KEPT_CPU_S = 0.007
"""Cost of the work before and after a run is computed, by one thread: preparing, writing, the summary, reading it for the tables."""
_KEPT_WALL_S = 0.01
"""The same with the time until the disk has it."""
_SAMPLE_CPU_S = 80e-9
"""Writing a sample."""
_RUN_BYTES = 9_500
"""Size of run.json, host.json and series.parquet without flows, and of their entries in the list of runs and the index."""
_BLOCKS_BYTES = 10_000
"""Size of the run's folder, and of the unused parts of its files' last blocks."""
_PACKED_CPU_S = 0.0005
"""Cost like `_KEPT_CPU_S` if workers of a cluster make packs: that of the one process that has the store. Measured with 5,000 runs."""
_PACKED_BYTES = 500
"""Size of a run in a pack, in place of `_RUN_BYTES` and `_BLOCKS_BYTES`."""
_PACKED_FLOW_BYTES = 150
_PACKED_SAMPLE_BYTES = 0.8
_FLOW_BYTES = 400
_SAMPLE_BYTES = 1.5
"""Size of a sample in series.parquet, compressed."""
_MEASURED_BYTES = 9.0
"""Size of a value of a datagram that measures: its time and value are as good as random."""
_CAPTURED_BYTES = 400
"""Maximum size of a data packet and its ACKs in the captures of both hosts, or of two points of the path."""


@dataclass(frozen=True)
class Estimate:
    """Estimated cost of several runs."""

    packets: int
    """Data packets delivered, at most."""
    cpu_s: float
    wall_s: float
    workers: int
    disk_bytes: int


def estimate(
    runs: Sequence[Prepared],
    workers: int | None = None,
    counts: Sequence[float] | None = None,
    packed: bool = False,
    able: Mapping[frozenset[str], int] | None = None,
) -> Estimate:
    """The cost of runs on this machine, or by workers like it. Runs in real time follow each other, however many workers there are.

    Args:
        runs: Some of them.
        workers: Their number; by default that of the processors.
        counts: The numbers of runs that each of these stands for, by default one.
        packed: The workers are a cluster's, and send packs of runs that are short.
        able: Threads of workers by the engines that these can run; by default each can run all. Some must be able to run each engine.
    """
    workers = check_workers(sum(able.values()) if able else workers)
    several = list(zip(runs, [1.0] * len(runs) if counts is None else counts, strict=True))
    packets = [(run, expected_packets(run.plan), count) for run, count in several]
    disk = sum((_bytes(run, packed) + _CAPTURED_BYTES * _points(run) * each) * count for run, each, count in packets)
    work: dict[str, float] = {}
    """CPU seconds by engine on a machine of usual speed."""
    for run, count in several:
        work[run.engine] = work.get(run.engine, 0.0) + run.cpu_s * count
    slowness = {name: engine(name).slowness(cpu_s) for name, cpu_s in work.items()}
    in_turn, longest, alone = 0.0, 0.0, 0.0
    at_once: dict[str, float] = {}
    """By engine."""
    for run, count in several:
        kept = (_KEPT_CPU_S + _SAMPLE_CPU_S * expected_samples(run.plan, run.engine)) * count
        cost, is_real = run.cpu_s * slowness[run.engine], engine(run.engine).in_real_time
        in_turn += cost * count if is_real else 0.0
        at_once[run.engine] = at_once.get(run.engine, 0.0) + kept + (0.0 if is_real else cost * count)
        longest = max(longest, cost if count and not is_real else 0.0)
        # One thread keeps runs while the others are computed.
        alone += _PACKED_CPU_S * count if _is_packed(run, packed) else kept + (_KEPT_WALL_S - _KEPT_CPU_S) * count
    wall_s = in_turn + max(_together_s(at_once, workers, able), alone, longest)
    return Estimate(round(sum(each * count for _, each, count in packets)), in_turn + sum(at_once.values()), wall_s, workers, int(disk))


def _together_s(costs: Mapping[str, float], workers: int, able: Mapping[frozenset[str], int] | None) -> float:
    """Return the minimum time for runs with these costs by engine: for each set of engines, their cost over the threads that can run one of
    them."""
    if able is None:
        return sum(costs.values()) / workers
    some = (set(names) for count in range(1, len(costs) + 1) for names in combinations(costs, count))
    return max(
        (sum(costs[name] for name in names) / sum(threads for can, threads in able.items() if can & names) for names in some), default=0.0
    )


def _is_packed(run: Prepared, packed: bool) -> bool:
    """True if workers of a cluster send a run in a pack."""
    return packed and not run.resolved.settings.capture and run.cpu_s * LEAST_PACK <= BATCH_S


def _bytes(run: Prepared, packed: bool) -> float:
    """Return the size of a run on the disk, without captures."""
    measured = expected_measurements(run.plan)
    samples = expected_samples(run.plan, run.engine) - measured
    flows = sum(len(workload.flows) for workload in run.plan.workloads)
    if _is_packed(run, packed):
        return _PACKED_BYTES + _PACKED_FLOW_BYTES * flows + _PACKED_SAMPLE_BYTES * samples + _MEASURED_BYTES * measured
    return _RUN_BYTES + _BLOCKS_BYTES + _FLOW_BYTES * flows + _SAMPLE_BYTES * samples + _MEASURED_BYTES * measured


def _points(run: Prepared) -> float:
    """Return how often each packet is kept; the captures of both hosts count as one."""
    kept = run.resolved.settings.capture
    return at_hosts(kept) + len(at_ports(kept)) / 2
