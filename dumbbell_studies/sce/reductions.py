"""Reduces one-flow runs to the numbers that the draft prints: netperf's throughput, and the mean of the RTT that `ss` shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.comparing.format import Measured
from dumbbell.results.runs import Runs

if TYPE_CHECKING:
    from dumbbell.results import Run

CCS = ("cubic", "reno", "reno-sce", "dctcp", "dctcp-sce")
BANDWIDTHS_MBIT = (0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0)
DELAYS_MS = (0.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0)
GridPoint = tuple[float, float]
"""Bandwidth (Mbit/s) and delay (ms)."""
PAIRS = (("reno-sce", "reno"), ("dctcp-sce", "dctcp"))
"""Pairs of congestion controls whose difference tables 1-4 show."""
BOTTLENECK = "port/bottleneck"
"""Entity of the port at which data packets queue."""
IMPLEMENTATION = "implementation"
"""Coordinate of the runs that compare implementations. The draft's own runs do not have it."""
THROUGHPUT, RTT = "throughput_mbit", "rtt_ms"
THROUGHPUT_DIFF, RTT_DIFF = "throughput_diff_norm", "rtt_diff_ms"


def flow_of(run: Run) -> str:
    """Entity of the only flow of a run."""
    (flow,) = [entity for entity in run.counters if entity.startswith("flow/")]
    return flow


def throughput_mbit(run: Run, flow: str) -> float:
    """Payload read by the receiving application over the lifetime of the flow, Mbit/s: netperf's THROUGHPUT, which includes start-up."""
    return run.summary.flows[flow.removeprefix("flow/")]["flow_goodput_mbit"]


def rtt_ms(run: Run, flow: str) -> float:
    """Mean of the smoothed RTT over all samples of the flow, ms. Samples are evenly spaced, like readings of `ss` at a fixed interval."""
    return run.summary.flows[flow.removeprefix("flow/")]["srtt_mean_ms"]


def cell_of(run: Run) -> tuple[str, float, float] | None:
    """(cc, bandwidth in Mbit/s, delay in ms) of a one-flow run of the draft; None for any other run."""
    if IMPLEMENTATION in run.cell:
        return None
    try:
        return str(run.cell["cc"]), float(run.cell["bandwidth_mbit"]), float(run.cell["delay_ms"])
    except (KeyError, ValueError):
        return None


def one_flow(runs: Sequence[Run]) -> Measured:
    """Throughput and RTT of each cell (cc, bandwidth_mbit, delay_ms), one value per seed."""
    return (runs if isinstance(runs, Runs) else Runs(runs)).cached(_one_flow)


def _one_flow(runs: Runs) -> Measured:
    measured: Measured = {}
    for run in runs:
        cell = cell_of(run)
        if cell is None:
            continue
        flow = flow_of(run)
        measured.setdefault((cell, THROUGHPUT), []).append(throughput_mbit(run, flow))
        measured.setdefault((cell, RTT), []).append(rtt_ms(run, flow))
    return measured


def one_flow_diff(runs: Sequence[Run]) -> Measured:
    """Differences of tables 1-4 by cell (cc_a, cc_b, bandwidth_mbit, delay_ms): throughput over bandwidth, RTT in ms.

    They are differences of medians over seeds, because runs of two congestion controls do not form pairs.
    """
    medians = {cell: float(np.median(values)) for cell, values in one_flow(runs).items()}
    differences: Measured = {}
    for cc_a, cc_b in PAIRS:
        for (cell, metric), value in medians.items():
            cc, bandwidth, delay = cell
            other = medians.get(((cc_b, bandwidth, delay), metric))
            if cc != cc_a or other is None:
                continue
            name, scale = (THROUGHPUT_DIFF, float(bandwidth)) if metric == THROUGHPUT else (RTT_DIFF, 1.0)
            differences[((cc_a, cc_b, bandwidth, delay), name)] = [(value - other) / scale]
    return differences
