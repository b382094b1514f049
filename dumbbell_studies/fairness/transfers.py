"""Reduces runs to what the report has of each transfer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from dumbbell import metrics
from dumbbell.results.runs import Runs
from dumbbell.study.claims import MissingRunError
from dumbbell_studies.fairness.hosts import senders, setups
from dumbbell_studies.fairness.published import FILE_BYTES, Place
from dumbbell_studies.fairness.scenarios import ERA

if TYPE_CHECKING:
    from dumbbell.results import Run

_LEAST_ALONE_S = 1.0
"""A transfer that is alone for less time has no throughput of its own."""


@dataclass(frozen=True)
class Transfer:
    """A transfer of a run."""

    mode: str
    experiment: str
    """Empty for a run of the report's own scenarios."""
    scenario: str
    sender: str
    seed: int
    start_s: float
    end_s: float
    """End of the transfer, or of the run if the transfer was not complete."""
    completed: bool
    retransmits: int
    srtt_ms: float
    """Mean of the sender's smoothed RTT, its own delay included."""
    trace_packets: int
    """Packets of both directions in a capture at the sender's device, as tcptrace counts them."""
    trace_rtt_ms: float
    """Mean RTT in that capture, behind the sender's delay."""
    window_bytes: float
    """Mean window that the sender advertises in that capture. No data come back to fill it."""
    shared_mbit: float
    """Throughput over the time that all transfers of the run have in common, Mbit/s."""
    alone_mbit: float
    """Throughput once the others have ended, Mbit/s; NaN if it did not outlive them by a second."""

    @property
    def place(self) -> Place:
        """Scenario and sender."""
        return self.scenario, self.sender

    @property
    def elapsed_s(self) -> float:
        """From SYN to the last byte. At the sender's device, where the report captures, it is the same: the first packet has waited for the
        delay there, and so has the last ACK."""
        return self.end_s - self.start_s

    @property
    def mbit(self) -> float:
        """The file over the elapsed time, Mbit/s."""
        return FILE_BYTES * 8 / self.elapsed_s / 1e6


class Transfers:
    """The transfers of a folder; of one with several modes those of the report's hosts are meant where no mode is named."""

    def __init__(self, transfers: Sequence[Transfer]) -> None:
        self.all = tuple(transfers)
        modes = {each.mode for each in transfers}
        self.mode = ERA.name if ERA.name in modes or not modes else min(modes)

    def of(self, scenario: str, sender: str, experiment: str = "") -> list[Transfer]:
        """All runs of a transfer. Raises `MissingRunError` if there is none."""
        wanted = (self.mode, experiment, scenario, sender)
        found = [each for each in self.all if (each.mode, each.experiment, each.scenario, each.sender) == wanted]
        if not found:
            raise MissingRunError(f"no run of {' '.join(filter(None, wanted))}")
        return found

    def has(self, scenario: str, experiment: str = "") -> bool:
        """There is a run of a scenario."""
        wanted = (self.mode, experiment, scenario)
        return any((each.mode, each.experiment, each.scenario) == wanted for each in self.all)

    def middle(
        self, scenario: str, sender: str, value: Callable[[Transfer], float] = lambda each: each.mbit, experiment: str = ""
    ) -> float:
        """Median over the seeds of a transfer, by default of its throughput. Raises as `of`."""
        return median(value(each) for each in self.of(scenario, sender, experiment))


def transfers(runs: Sequence[Run]) -> Transfers:
    """The transfers of some runs."""
    return (runs if isinstance(runs, Runs) else Runs(runs)).cached(_transfers)


def _transfers(runs: Runs) -> Transfers:
    return Transfers([transfer for run in runs for transfer in of_run(run)])


def of_run(run: Run) -> list[Transfer]:
    """The transfers of a run; none if it does not belong to this study."""
    if not {"mode", "scenario", "seed"} <= run.cell.keys() or not isinstance(run.cell["seed"], int):
        return []
    scenario = str(run.cell["scenario"])
    if scenario not in {each for each, _ in setups()}:
        return []
    found = []
    times = {sender: _times_s(run, sender) for sender in senders(scenario)}
    shared = max(start for start, _ in times.values()), min(end for _, end in times.values())
    traced = {str(row["flow"]): row for row in run.flows.rows()}
    for sender, (start_s, end_s) in times.items():
        flow, summary = run.counters[f"flow/{sender}"], run.summary.flows[sender]
        received = _read(run, sender)
        others_end_s = max((end for other, (_, end) in times.items() if other != sender), default=end_s)
        found.append(
            Transfer(
                mode=str(run.cell["mode"]),
                experiment=str(run.cell.get("experiment", "")),
                scenario=scenario,
                sender=sender,
                seed=run.cell["seed"],
                start_s=start_s,
                end_s=end_s,
                completed="completed_ns" in flow,
                retransmits=flow["retransmits"],
                srtt_ms=float(summary["srtt_mean_ms"]),
                trace_packets=traced[sender]["trace_packets"],
                trace_rtt_ms=traced[sender]["trace_rtt_ms"],
                window_bytes=traced[sender]["trace_window_bytes"],
                shared_mbit=metrics.throughput_mbit(received, *shared),
                alone_mbit=metrics.throughput_mbit(received, others_end_s, end_s) if end_s > others_end_s + _LEAST_ALONE_S else math.nan,
            )
        )
    return found


def _read(run: Run, sender: str) -> metrics.Series:
    """Bytes read over the whole run; none before the transfer begins, whose first sample may come later."""
    times, counted = run.series(f"flow/{sender}", "rx_bytes")
    return np.insert(times, 0, 0.0), np.insert(counted, 0, 0.0)


def _times_s(run: Run, sender: str) -> tuple[float, float]:
    """Start and end of a transfer."""
    flow = run.counters[f"flow/{sender}"]
    return flow["start_ns"] / metrics.NS_PER_S, (flow["start_ns"] + flow["active_ns"]) / metrics.NS_PER_S
