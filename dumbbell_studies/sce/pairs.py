"""Reduces two-flow runs to the numbers that the draft prints: throughput and RTT of each flow, Jain's index of the throughputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

from dumbbell import metrics
from dumbbell.comparing.format import Measured
from dumbbell.results.runs import Runs
from dumbbell_studies.sce import reductions

if TYPE_CHECKING:
    from dumbbell.results import Run

QUEUE_MODES: Mapping[str, Mapping[str, Any]] = {
    "flowblind": {"isolation": "flowblind", "sce": True},
    "flowblind sce-single": {"isolation": "flowblind", "sce": "single"},
    "triple-isolate": {"isolation": "triple-isolate", "sce": True},
}
"""The draft's name of a queue -> cake's keywords."""
CC_PAIRS = tuple(combinations_with_replacement(reductions.CCS, 2))
"""First and second flow, in the order of the draft's tables."""
BANDWIDTHS_MBIT = (1.0, 5.0, 10.0, 50.0, 100.0)
DELAYS_MS = (0.0, 10.0, 20.0, 80.0)
JAIN = "jain_index"
FLOWS = ("1", "2")
"""Names of the two flows."""


@dataclass(frozen=True)
class PairCell:
    """A cell of the two-flow tables."""

    queue_mode: str
    cc1: str
    cc2: str
    bandwidth_mbit: float
    delay_ms: float

    @property
    def key(self) -> tuple[str, str, str, float, float]:
        """The key columns of Jain's tables."""
        return self.queue_mode, self.cc1, self.cc2, self.bandwidth_mbit, self.delay_ms

    @property
    def ccs(self) -> tuple[str, str]:
        """Congestion controls of the two flows."""
        return self.cc1, self.cc2


@dataclass(frozen=True)
class PairRun:
    """The reduced numbers of a two-flow run, by flow."""

    throughput_mbit: tuple[float, float]
    rtt_ms: tuple[float, float]
    cwnd_reductions: tuple[int, int]
    """Number of window reductions because of CE or loss."""

    @property
    def jain(self) -> float:
        """Jain's index of the two throughputs."""
        return metrics.jain(self.throughput_mbit)

    @property
    def shares(self) -> tuple[float, float]:
        """Each flow's share of the total throughput."""
        first, second = self.throughput_mbit
        return first / (first + second), second / (first + second)


def pair_cell_of(run: Run) -> PairCell | None:
    """The cell of a two-flow run; None for any other run."""
    if reductions.IMPLEMENTATION in run.cell:
        return None
    try:
        mode, cc1, cc2 = (str(run.cell[name]) for name in ("queue_mode", "cc1", "cc2"))
        return PairCell(mode, cc1, cc2, float(run.cell["bandwidth_mbit"]), float(run.cell["delay_ms"]))
    except (KeyError, ValueError):
        return None


def pair_runs(runs: Sequence[Run]) -> Mapping[PairCell, list[PairRun]]:
    """The reduced two-flow runs by cell, one per seed. The series are read only once."""
    return (runs if isinstance(runs, Runs) else Runs(runs)).cached(_pair_runs)


def two_flow(runs: Sequence[Run]) -> Measured:
    """Throughput and RTT by cell and flow (queue_mode, cc1, cc2, bandwidth_mbit, delay_ms, flow, cc), one value per seed."""
    measured: Measured = {}
    for cell, repeats in pair_runs(runs).items():
        for i, cc in enumerate(cell.ccs):
            key = (*cell.key, float(i + 1), cc)
            measured[key, reductions.THROUGHPUT] = [run.throughput_mbit[i] for run in repeats]
            measured[key, reductions.RTT] = [run.rtt_ms[i] for run in repeats]
    return measured


def jain(runs: Sequence[Run]) -> Measured:
    """Jain's index by cell (queue_mode, cc1, cc2, bandwidth_mbit, delay_ms), one value per seed."""
    return {(cell.key, JAIN): [run.jain for run in repeats] for cell, repeats in pair_runs(runs).items()}


def _pair_runs(runs: Runs) -> dict[PairCell, list[PairRun]]:
    found: dict[PairCell, list[PairRun]] = {}
    for run in runs:
        cell = pair_cell_of(run)
        if cell is not None:
            found.setdefault(cell, []).append(_reduce(run))
    return found


def _reduce(run: Run) -> PairRun:
    first, second = (f"flow/{name}" for name in FLOWS)
    return PairRun(
        throughput_mbit=(reductions.throughput_mbit(run, first), reductions.throughput_mbit(run, second)),
        rtt_ms=(reductions.rtt_ms(run, first), reductions.rtt_ms(run, second)),
        cwnd_reductions=(run.counters[first]["cwnd_reductions"], run.counters[second]["cwnd_reductions"]),
    )
