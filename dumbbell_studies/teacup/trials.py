"""Reduces runs to the quantities that the report plots and makes claims about: series by flow, with time 0 at the first start."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dumbbell import metrics
from dumbbell.metrics import Array, Flags, Series
from dumbbell.results.runs import Runs
from dumbbell.study.claims import MissingRunError
from dumbbell_studies.teacup.published import Experiment
from dumbbell_studies.teacup.scenarios import FLOW_S, ONSET, STARTS_S

if TYPE_CHECKING:
    from dumbbell.results import Run

SEGMENT_KB = 1.448
"""Payload of a segment in kB (1000 bytes). Converts cwnd to bytes, the report's unit."""
WINDOW_S, STEP_S = 2.0, 0.5
"""Length and distance of the windows over which the report averages throughput."""
STEPS_S: Array = np.arange(WINDOW_S, STARTS_S[-1] + FLOW_S + STEP_S / 2, STEP_S)
"""Ends of these windows."""
EPOCHS_S = ((25.0, 40.0), (45.0, 60.0), (65.0, 80.0))
"""Intervals in which a constant number of flows (two or three) shares the path, from 5 s after a start."""
SETTLED_S = ((5.0, 20.0), (25.0, 40.0), (45.0, 100.0))
"""The whole trial without the 5 s after each start."""
_FORWARD, _REVERSE = "port/bottleneck", "port/bottleneck-reverse"
_CA_CWR = 2
"""`ca_state` of CWR. Recovery and loss are greater."""


@dataclass(frozen=True)
class FlowTrace:
    """The series of one flow. Times are in s from the first start of the run."""

    start_s: float
    stop_s: float
    received: Series
    """Cumulative bytes over the whole run; 0 before the flow starts."""
    cwnd_kb: Series
    ssthresh_kb: Series
    """NaN until it is set for the first time."""
    recovering: Flags
    """For each sample of cwnd, whether the sender is in CWR, recovery or loss."""
    rtt_ms: Series
    """Measured by packet pairs; see `rtt`."""
    sender_rtt_ms: Series
    """The latest RTT sample of the sender itself, at each sampling time."""
    retransmits: Series
    """Cumulative segments retransmitted."""


@dataclass(frozen=True)
class Trial:
    """A run of the study, reduced."""

    experiment: Experiment
    onset_s: float | None
    """Time at which the AQM of a control run becomes active; None for other runs."""
    seed: int
    flows: tuple[FlowTrace, ...]
    forward_ms: Series
    """Sojourn time of the latest departure from the bottleneck's queue in the direction of the data."""
    reverse_ms: Series
    """The same in the direction of the ACKs."""
    drops: Series
    """Cumulative drops in the direction of the data."""
    thr2: Array
    """Throughput in Mbit/s over 2 s, shape (flows, STEPS_S); NaN unless the flow is active during the whole window."""

    def thr(self, flow: int, start_s: float, stop_s: float) -> float:
        """Mean goodput of a flow (from 1), Mbit/s."""
        return metrics.throughput_mbit(self.flows[flow - 1].received, start_s, stop_s)

    def agg_thr(self, start_s: float, stop_s: float) -> float:
        """Mean goodput of all flows together, Mbit/s."""
        return sum(self.thr(flow, start_s, stop_s) for flow in range(1, len(self.flows) + 1))

    def active(self, start_s: float, stop_s: float) -> list[int]:
        """The flows (from 1) that are active during the whole window, apart from the jitter of their starts."""
        slack = 0.2
        return [i for i, flow in enumerate(self.flows, 1) if flow.start_s <= start_s + slack and flow.stop_s >= stop_s - slack]

    def shares(self, start_s: float, stop_s: float) -> dict[int, float]:
        """Flow -> its share of the goodput of all active flows."""
        rates = {flow: self.thr(flow, start_s, stop_s) for flow in self.active(start_s, stop_s)}
        return {flow: rate / sum(rates.values()) for flow, rate in rates.items()}

    def jain(self, start_s: float, stop_s: float) -> float:
        """Jain's index of the mean goodput of the active flows."""
        return metrics.jain(list(self.shares(start_s, stop_s).values()))

    def jain2(self) -> Array:
        """Jain's index of each 2 s window that lies within an epoch, for all epochs together."""
        return metrics.jain_by_step(np.concatenate([self._steps(*epoch) for epoch in EPOCHS_S], axis=1))

    def covs(self) -> list[float]:
        """For each flow, the coefficient of variation of its 2 s rates, averaged over the epochs in which it is active."""
        found = []
        for flow in range(len(self.flows)):
            rates = [self._steps(*epoch)[flow] for epoch in EPOCHS_S if flow + 1 in self.active(*epoch)]
            found.append(float(np.mean([metrics.coefficient_of_variation(list(each)) for each in rates])))
        return found

    def rtt(self, windows: Sequence[tuple[float, float]], flows: Sequence[int] = (1, 2, 3)) -> Array:
        """RTT samples (ms) of all these flows in all windows."""
        return metrics.pooled([flow.rtt_ms for i, flow in enumerate(self.flows, 1) if i in flows], windows)

    def reductions(self, flow: int) -> list[metrics.Reduction]:
        """Reductions of the cwnd (kB) of a flow (from 1)."""
        trace = self.flows[flow - 1]
        rtt_s = float(np.median(metrics.in_window(trace.rtt_ms)[1])) / 1e3
        return metrics.reductions(trace.cwnd_kb, trace.recovering, rtt_s)

    def time_to_fair_share_s(self, flow: int) -> float:
        """Time from a flow's start to the end of the first 2 s window in which it gets 90 % of an equal share; NaN if there is none.

        The equal share is that of the goodput of all flows from 2 to 98 s, divided by the number of flows started so far.
        """
        sharing = sum(each.start_s <= self.flows[flow - 1].start_s for each in self.flows)
        fair = self.agg_thr(2, 98) / sharing
        return metrics.time_to_fair_share((STEPS_S, self.thr2[flow - 1]), fair, self.flows[flow - 1].start_s)

    def _steps(self, start_s: float, stop_s: float) -> Array:
        """The columns of `thr2` whose windows lie within [start_s, stop_s]."""
        inside: Array = self.thr2[:, steps_within(start_s, stop_s)]
        return inside


class Trials:
    """The trials of a folder, by experiment."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._by_cell: dict[tuple[Experiment, float | None], list[Trial]] = {}
        for trial in trials:
            self._by_cell.setdefault((trial.experiment, trial.onset_s), []).append(trial)

    def of(self, cc: str, qdisc: str, rtt_ms: float, limit_packets: int = 180, onset_s: float | None = None) -> list[Trial]:
        """All runs of an experiment, or of its control run. Raises `MissingRunError` if there is none."""
        found = self._by_cell.get((Experiment(cc, qdisc, rtt_ms, limit_packets), onset_s))
        if not found:
            control = "" if onset_s is None else f", control of {onset_s:g} s"
            raise MissingRunError(f"no run of {cc}, {qdisc}, {rtt_ms:g} ms, {limit_packets} packets{control}")
        return found

    @property
    def experiments(self) -> dict[Experiment, list[Trial]]:
        """Experiment -> its runs, without control runs."""
        return {experiment: found for (experiment, onset_s), found in self._by_cell.items() if onset_s is None}


def trials(runs: Sequence[Run]) -> Trials:
    """The trials among some runs. Series are read only once."""
    return (runs if isinstance(runs, Runs) else Runs(runs)).cached(_trials)


def _trials(runs: Runs) -> Trials:
    return Trials([trial for run in runs if (trial := trial_of(run)) is not None])


CHANGE = "change"
"""Coordinate of a trial with a change, which is none of the report's."""


def coordinates_of(run: Run) -> tuple[Experiment, float | None, int] | None:
    """Experiment, onset (of a control run) and seed of a run. None if the run does not belong to this study."""
    cell = run.cell
    try:
        experiment = Experiment(str(cell["cc"]), str(cell["qdisc"]), float(cell["rtt_ms"]), int(float(cell["limit_packets"])))
        return experiment, float(cell[ONSET]) if ONSET in cell else None, int(cell["seed"])
    except (KeyError, OverflowError, ValueError):
        return None


def run_of(runs: Sequence[Run], experiment: Experiment, seed: int) -> Run | None:
    """One run of an experiment; None if it is missing."""
    return next((run for run in runs if CHANGE not in run.cell and coordinates_of(run) == (experiment, None, seed)), None)


def trial_of(run: Run, changed: bool = False) -> Trial | None:
    """The trial of a run; None if the run does not belong to this study, or has a change and is not asked for as such (`changed`)."""
    coordinates = coordinates_of(run)
    if coordinates is None or changed != (CHANGE in run.cell):
        return None
    experiment, onset_s, seed = coordinates
    series = series_of(run)
    starts = {entity: counters["start_ns"] for entity, counters in run.counters.items() if entity.startswith("flow/")}
    first_s = min(starts.values()) / metrics.NS_PER_S
    axis = series(_FORWARD, "drops")[0]

    def shifted(entity: str, name: str) -> Series:
        return _shifted(series(entity, name), first_s)

    def flow(entity: str) -> FlowTrace:
        start_s = starts[entity] / metrics.NS_PER_S - first_s
        cwnd = shifted(entity, "cwnd")
        stop_s = start_s + run.counters[entity]["active_ns"] / metrics.NS_PER_S
        active = cwnd[0] <= stop_s
        return FlowTrace(
            start_s=start_s,
            stop_s=stop_s,
            received=_from_start_to_end(shifted(entity, "rx_bytes"), axis - first_s, run.counters[entity]["rx_bytes"]),
            cwnd_kb=(cwnd[0][active], SEGMENT_KB * cwnd[1][active]),
            ssthresh_kb=(cwnd[0][active], SEGMENT_KB * _where_known(shifted(entity, "ssthresh"), cwnd[0])[active]),
            recovering=series(entity, "ca_state")[1][active] >= _CA_CWR,
            rtt_ms=metrics.in_window(_shifted(rtt(series, entity), first_s), start_s, stop_s),
            sender_rtt_ms=metrics.in_window(shifted(entity, "rtt_ms"), start_s, stop_s),
            retransmits=shifted(entity, "retransmits"),
        )

    flows = tuple(flow(entity) for entity in sorted(starts, key=lambda entity: starts[entity]))
    return Trial(
        experiment=experiment,
        onset_s=onset_s,
        seed=seed,
        flows=flows,
        forward_ms=shifted(_FORWARD, "sojourn_ms"),
        reverse_ms=shifted(_REVERSE, "sojourn_ms"),
        drops=shifted(_FORWARD, "drops"),
        thr2=np.stack([_thr2(each) for each in flows]),
    )


def rtt(series: Callable[[str, str], Series], entity: str) -> Series:
    """RTT of a flow (ms) as the report measures it: by packet pairs (SPP) between captures at both hosts.

    Unlike the sender's own samples, it does not include the time by which the receiver delays an ACK.
    """
    return series(entity, "passive_rtt_ms")


def counted(cumulative: Series, start_s: float, stop_s: float) -> float:
    """By how much a counter, which is 0 before its first sample, grows in (start_s, stop_s]."""
    times, values = cumulative
    before, until = (np.searchsorted(times, time, side="right") for time in (start_s, stop_s))
    return float((values[until - 1] if until else 0.0) - (values[before - 1] if before else 0.0))


def steps_within(start_s: float, stop_s: float) -> Flags:
    """For each of STEPS_S, whether its window lies within [start_s, stop_s]."""
    ends, slack = STEPS_S, 1e-9  # slack for rounding errors
    inside: Flags = (ends - WINDOW_S >= start_s - slack) & (ends <= stop_s + slack)
    return inside


def series_of(run: Run) -> Callable[[str, str], Series]:
    """A function of (entity, name) that returns times (s) and values, empty if there is no sample. The run's file is read only once."""
    parts = run.frame.partition_by("entity", "series", as_dict=True)
    found: Mapping[tuple[object, ...], Series] = {
        key: (part["t_ns"].to_numpy() / metrics.NS_PER_S, part["value"].to_numpy()) for key, part in parts.items()
    }
    return lambda entity, name: found.get((entity, name), (np.empty(0), np.empty(0)))


def _from_start_to_end(received: Series, axis: Array, total: float) -> Series:
    """Return the bytes that a receiver had read at each time of the run: nothing before its first sample, all after the last."""
    times, values = received
    if not times.size:
        return axis, np.zeros(len(axis))
    before, after = axis[axis < times[0]], axis[axis > times[-1]]
    return np.concatenate([before, times, after]), np.concatenate([np.zeros(len(before)), values, np.full(len(after), float(total))])


def _where_known(series: Series, times: Array) -> Array:
    """The values at some times, NaN where there is none; the series has no others."""
    values = np.full(len(times), np.nan)
    values[np.searchsorted(times, series[0])] = series[1]
    return values


def _shifted(series: Series, by_s: float) -> Series:
    return series[0] - by_s, series[1]


def _thr2(flow: FlowTrace) -> Array:
    rates = metrics.window_throughput_mbit(flow.received, WINDOW_S, STEPS_S)
    rates[~steps_within(flow.start_s, flow.stop_s)] = np.nan
    return rates
