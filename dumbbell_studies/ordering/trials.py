"""Reduces runs to what the page measures: bits of each second at the bottleneck's egress, and how they vary.

All metrics are over one window: 10 to 600 s, or 135 to 1,200 s of the congested link, in bins of a second. Bits are those of IP packets.
The high-speed flows' shares of the port are counted in frames and scaled by 1500/1514: all of their packets there are full, but a few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dumbbell import metrics
from dumbbell.metrics import Array, Series
from dumbbell.results.runs import Runs
from dumbbell.scenario.values.web import RATE_MBIT
from dumbbell.study.claims import MissingRunError
from dumbbell_studies.ordering.conditions import Condition
from dumbbell_studies.ordering.controls import ERA, MODERN
from dumbbell_studies.ordering.scenarios import BOTTLENECK, HIGH_SPEED

if TYPE_CHECKING:
    from dumbbell.results import Run

CAPACITY_BPS = RATE_MBIT * 1e6
PAYLOAD = 1448 / 1500
"""Payload of a full segment over its IP packet. The page's utilisations are compared with payload, see `fitted`."""
_IP_OF_FRAME = 1500 / 1514


@dataclass(frozen=True)
class Trial:
    """A run of the study, reduced."""

    mode: str
    experiment: str
    """Empty for the page's own runs."""
    protocol: str
    condition: Condition
    seed: int
    bits: Array = field(repr=False)
    """Bits of all traffic in each second, shape (seconds,)."""
    reverse_bits: Array = field(repr=False)
    """The same on the way back."""
    flow_bits: Array = field(repr=False)
    """Bits of each high-speed flow in each second, shape (flows, seconds)."""
    queue_cov: float
    """CoV of the bottleneck's queue at the end of each second."""
    loss_synchronisation: float
    """NaN if no high-speed flow retransmitted."""

    @property
    def ip_utilization(self) -> float:
        """Link utilisation, IP packets."""
        return metrics.link_utilisation(self.bits, CAPACITY_BPS)

    @property
    def utilization(self) -> float:
        """Link utilisation as it is compared: what of it would be payload if all packets were full."""
        return PAYLOAD * self.ip_utilization

    @property
    def utilization_cov(self) -> float:
        """CoV of the bits of a second, all traffic."""
        return metrics.coefficient_of_variation(list(self.bits))

    @property
    def cov_pta(self) -> float:
        """CoV of the bits of a second, high-speed flows together; NaN without any."""
        return metrics.aggregate_variation(self.flow_bits) if len(self.flow_bits) else math.nan

    @property
    def cov_ptp(self) -> float:
        """CoV of the bits of a second of each high-speed flow, their mean; NaN without any."""
        return metrics.flow_variation(self.flow_bits) if len(self.flow_bits) else math.nan

    @property
    def synchronisation(self) -> float:
        """n (CoV-PTA / CoV-PTP)^2; NaN without flows."""
        return metrics.synchronisation_index(self.flow_bits) if len(self.flow_bits) else math.nan

    @property
    def load_width(self) -> float:
        """90th less 10th percentile of the bits of a second, all traffic."""
        low, high = np.percentile(self.bits, [10, 90])
        return float(high - low)


class Trials:
    """The trials of a folder. Of a folder with both modes those of 2006 are meant where no mode is named."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        self.all = tuple(trials)
        self.mode = ERA.name if any(trial.mode == ERA.name for trial in self.all) else MODERN.name
        self._cells: dict[tuple[str, str, str, Condition], list[Trial]] = {}
        for trial in self.all:
            self._cells.setdefault((trial.mode, trial.experiment, trial.protocol, trial.condition), []).append(trial)

    @property
    def own(self) -> dict[tuple[str, Condition], list[Trial]]:
        """Protocol and condition -> the trials of each seed, of the page's own runs."""
        return {(cell[2], cell[3]): found for cell, found in self._cells.items() if cell[:2] == (self.mode, "")}

    def of(self, protocol: str, condition: Condition, experiment: str = "") -> list[Trial]:
        """All seeds of a cell. Raises `MissingRunError` if there is none."""
        found = self._cells.get((self.mode, experiment, protocol, condition))
        if not found:
            raise MissingRunError(f"no run of {protocol}, {condition.name}{f', {experiment}' if experiment else ''}")
        return found

    def mean(self, protocol: str, condition: Condition, value: Callable[[Trial], float] = lambda t: t.utilization) -> float:
        """Mean over seeds of a cell, by default of the utilisation. Raises as `of`."""
        return float(np.mean([value(trial) for trial in self.of(protocol, condition)]))


def trials(runs: Sequence[Run]) -> Trials:
    """The trials among some runs. Series are read only once."""
    return (runs if isinstance(runs, Runs) else Runs(runs)).cached(_trials)


def _trials(runs: Runs) -> Trials:
    return Trials(trial for run in runs if (trial := trial_of(run)) is not None)


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean over seeds and its confidence limits, which are infinite for one seed."""
    if len(set(values)) == 1:
        return values[0], -math.inf, math.inf
    return metrics.confidence_interval(values)


def condition_of(run: Run) -> Condition | None:
    """The condition of a run; None if it does not belong to this study."""
    cell = run.cell
    try:
        return Condition(
            rtt_ms=None if cell["rtt_ms"] == "exponential" else float(cell["rtt_ms"]),
            buffer_mib=int(cell["buffer_mib"]),
            flows=int(cell["flows"]),
            background=str(cell["background"]),
            congested=cell["congested"] == "true",
        )
    except (KeyError, ValueError):
        return None


def trial_of(run: Run) -> Trial | None:
    """The trial of a run; None if the run does not belong to this study."""
    condition = condition_of(run)
    if condition is None or not {"mode", "protocol", "seed"} <= run.cell.keys() or not isinstance(run.cell["seed"], int):
        return None
    from dumbbell.results.capacity import capacities

    series = run.all_series("sent_bytes", "sent_packets", "backlog_bytes", "retransmits")
    uncounted = capacities(run)[BOTTLENECK].uncounted_bytes
    window = condition.times.from_s, condition.times.to_s

    def sent(port: str) -> Array:
        (times, sent_bytes), (_, packets) = series[f"port/{port}", "sent_bytes"], series[f"port/{port}", "sent_packets"]
        return metrics.bits_by_bin((times, sent_bytes - uncounted * packets), *window)

    def shares() -> Iterable[Series]:
        head = f"share/{BOTTLENECK}/flow/{HIGH_SPEED}"
        return [found for (entity, name), found in sorted(series.items()) if name == "sent_bytes" and entity.startswith(head)]

    flow_bits = [_IP_OF_FRAME * metrics.bits_by_bin(each, *window) for each in shares()]
    again = [found for (_, name), found in sorted(series.items()) if name == "retransmits"]
    return Trial(
        mode=str(run.cell["mode"]),
        experiment=str(run.cell.get("experiment", "")),
        protocol=str(run.cell["protocol"]),
        condition=condition,
        seed=run.cell["seed"],
        bits=sent(BOTTLENECK),
        reverse_bits=sent(f"{BOTTLENECK}-reverse"),
        flow_bits=np.array(flow_bits),
        queue_cov=metrics.queue_variation(series[f"port/{BOTTLENECK}", "backlog_bytes"], *window),
        loss_synchronisation=_loss_synchronisation(again, *window),
    )


def _loss_synchronisation(again: Sequence[Series], start_s: float, stop_s: float) -> float:
    """Return the share of the seconds with retransmissions in which several flows retransmit."""
    if not again:
        return math.nan
    # A counter times 8 is what `bits_by_bin` makes of bytes; only whether it grew matters.
    return metrics.loss_synchronisation(np.array([metrics.bits_by_bin(each, start_s, stop_s) > 0 for each in again]))
