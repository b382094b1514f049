"""What runs cost, estimated before they are started."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from dumbbell.engines import sim
from dumbbell.engines.pool import default_workers
from dumbbell.scenario import ResolvedScenario, Scenario

_RUN_CPU_S = 0.005
"""Beside the simulation: lowering, digest, writing."""
_RUN_BYTES = 6_000
"""run.json and host.json of a few flows."""
_SAMPLE_BYTES = 2.5
"""Of a sample in series.parquet, compressed."""


@dataclass(frozen=True)
class Estimate:
    """Of several runs."""

    packets: int
    """Delivered, at most."""
    cpu_s: float
    wall_s: float
    workers: int
    disk_bytes: int


def estimate(runs: Sequence[ResolvedScenario], workers: int | None = None) -> Estimate:
    """The cost of runs on this machine; its speed is measured on a short run."""
    workers = workers or default_workers()
    speed = packets_per_cpu_second()
    costs = [sim.expected_packets(run) / speed + _RUN_CPU_S for run in runs]
    disk = sum(_RUN_BYTES + _SAMPLE_BYTES * sim.expected_samples(run) for run in runs)
    wall_s = max(sum(costs) / workers, max(costs, default=0.0))
    return Estimate(sum(map(sim.expected_packets, runs)), sum(costs), wall_s, workers, int(disk))


@cache
def packets_per_cpu_second() -> float:
    """Delivered data packets per CPU second of one cubic flow through a FIFO, measured now."""
    probe = Scenario.model_validate(
        {
            "name": "speed",
            "path": {"rtt": "40ms", "bottleneck": {"rate": "100mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}},
            "flows": [{"cc": "cubic"}],
            "duration": "10s",
        }
    )
    (resolved,) = probe.expand()
    network = json.dumps(sim.lower(resolved))
    began = time.thread_time()
    output = sim.native().simulate(network)
    return float(output["delivered_packets"]) / (time.thread_time() - began)
