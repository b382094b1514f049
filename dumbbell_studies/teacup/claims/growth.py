"""Claims about how windows and throughput grow, and what an AQM costs on a long path."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence

import numpy as np

from dumbbell import metrics
from dumbbell.study.claims import Findings, MissingRunError, Outcome
from dumbbell_studies.teacup.claims.evidence import CCS, median, share_of
from dumbbell_studies.teacup.scenarios import AQMS, CONTROL_FROM_S, CONTROL_LIMIT, CONTROL_RTT_MS, TAIL_DROP
from dumbbell_studies.teacup.trials import STEPS_S, Trial, Trials

INITIAL_S = 3.0
"""Reductions within this time after the first one belong to the end of the first slow start."""
BDP_KB = 250.0
"""10 Mbit/s x 200 ms."""
RATE_MBIT = 10.0
SUPPRESSED_KB = 400.0
"""The claim about ending slow start too soon demands that the AQM is inactive until the window exceeds this."""


def first_reductions(trial: Trial, flow: int = 1) -> list[metrics.Reduction]:
    """The reductions that end the first slow start."""
    found = trial.reductions(flow)
    return metrics.initial_reductions(found, INITIAL_S) if found else []


def ca_cwnd(trial: Trial) -> float:
    """The first flow's window (kB) at which congestion avoidance begins; NaN if no packet is lost."""
    found, flow = first_reductions(trial), trial.flows[0]
    return metrics.avoidance_start(flow.cwnd_kb, flow.ssthresh_kb, flow.recovering, found[-1].end_s) if found else math.nan


def peak(trial: Trial) -> float:
    """The first flow's largest window (kB) before its first reduction; NaN if there is no reduction."""
    found = first_reductions(trial)
    return float(metrics.in_window(trial.flows[0].cwnd_kb, 0, found[0].start_s)[1].max()) if found else math.nan


def first_reach_s(trial: Trial, rate_mbit: float) -> float:
    """End of the first 2 s window in which the first flow reaches this rate; infinite if there is none."""
    reached = np.flatnonzero(trial.thr2[0] >= rate_mbit)
    return float(STEPS_S[reached[0]]) if reached.size else math.inf


def aqm_costs_throughput(
    trials: Trials, ccs: Sequence[str] = CCS, between: tuple[float, float] = (0.70, 0.98), rtt_ms: float = 200, limit: int = 180
) -> Outcome:
    """T003+T087: throughput with an AQM, relative to tail drop."""
    found = Findings()
    for cc in ccs:
        tail_drop = median(trials.of(cc, TAIL_DROP, rtt_ms), lambda t: t.agg_thr(0, 100))
        for qdisc in AQMS:
            ratio = median(trials.of(cc, qdisc, rtt_ms, limit), lambda t: t.agg_thr(0, 100)) / tail_drop
            found.add(f"{cc} {qdisc} x {ratio:.3f}", between[0] <= ratio <= between[1])
    return found.outcome()


def early_saturation(trials: Trials, cc: str, qdisc: str = TAIL_DROP, rtt_ms: float = 200, limit: int = 180) -> Outcome:
    """T013+T014, T048: a single flow fills the path, the first flow early."""
    runs = trials.of(cc, qdisc, rtt_ms, limit)
    at, first, last = (
        median(runs, lambda t: first_reach_s(t, 9.0)),
        median(runs, lambda t: t.thr(1, 8, 20)),
        median(runs, lambda t: t.thr(3, 84, 100)),
    )
    found = Findings()
    found.add(f"9 Mbit/s at {at:.1f} s", at <= 6)
    found.add(f"flow 1 {first:.2f} Mbit/s in 8..20 s", first >= 9.0)
    found.add(f"flow 3 {last:.2f} Mbit/s in 84..100 s", last >= 8.5)
    return found.outcome()


def slower_oscillation(
    trials: Trials, cc: str, factor: float = 1.5, qdisc: str = TAIL_DROP, rtts_ms: tuple[float, float] = (20, 200), limit: int = 180
) -> Outcome:
    """T015: the interval between reductions of a window is longer on the longer path."""
    short, long = (median(trials.of(cc, qdisc, rtt_ms, limit), _reduction_interval_s) for rtt_ms in rtts_ms)
    return Outcome(long >= factor * short, f"{short:.2f} s at {rtts_ms[0]:g} ms, {long:.2f} s at {rtts_ms[1]:g} ms, x {long / short:.2f}")


def lone_flows_fall_short(
    trials: Trials,
    ccs: Sequence[str],
    first_share: float,
    last_share: float = 0.97,
    slow: bool = True,
    qdiscs: Sequence[str] = AQMS,
    rtt_ms: float = 200,
    limit: int = 180,
) -> Outcome:
    """T027, T072: with an AQM, neither the first nor the last flow fills the path quickly while it is alone.

    `first_share`, `last_share`: greatest throughput of these flows, relative to tail drop. `slow`: the first one does not reach 9.5 Mbit/s
    before 10 s.
    """
    found = Findings()
    for cc in ccs:
        tail_drop = trials.of(cc, TAIL_DROP, rtt_ms)
        first, last = median(tail_drop, lambda t: t.thr(1, 4, 20)), median(tail_drop, lambda t: t.thr(3, 82, 100))
        for qdisc in qdiscs:
            runs = trials.of(cc, qdisc, rtt_ms, limit)
            one, three = median(runs, lambda t: t.thr(1, 4, 20)) / first, median(runs, lambda t: t.thr(3, 82, 100)) / last
            at = median(runs, lambda t: first_reach_s(t, 9.5))
            found.add(
                f"{cc} {qdisc}: flow 1 x {one:.3f}, 9.5 Mbit/s {'never' if math.isinf(at) else f'at {at:.1f} s'}, flow 3 x {three:.3f}",
                one <= first_share and (at >= 10 or not slow) and three <= last_share,
            )
    return found.outcome()


def smaller_start_of_avoidance(
    trials: Trials, ccs: Sequence[str], share: float = 0.65, qdiscs: Sequence[str] = AQMS, rtt_ms: float = 200, limit: int = 180
) -> Outcome:
    """T028: congestion avoidance begins at a smaller window than with tail drop."""
    found = Findings()
    for cc in ccs:
        tail_drop = median(trials.of(cc, TAIL_DROP, rtt_ms), ca_cwnd)
        found.add(f"{cc} {TAIL_DROP} {tail_drop:.0f} kB", True)
        for qdisc in qdiscs:
            own = median(trials.of(cc, qdisc, rtt_ms, limit), ca_cwnd)
            found.add(f"{qdisc} {own:.0f} kB (x {own / tail_drop:.2f})", own <= share * tail_drop)
    return found.outcome()


def avoidance_below_plateau(
    trials: Trials, cc: str, share: float, qdiscs: Sequence[str] = AQMS, rtt_ms: float = 200, limit: int = 180
) -> Outcome:
    """T073: congestion avoidance begins far below the window that the first flow has with tail drop, where it loses nothing."""
    plateau = median(trials.of(cc, TAIL_DROP, rtt_ms), lambda t: float(metrics.in_window(t.flows[0].cwnd_kb, 5, 20)[1].mean()))
    found = Findings()
    found.add(f"{cc} {TAIL_DROP}: mean cwnd {plateau:.0f} kB in 5..20 s", True)
    for qdisc in qdiscs:
        own = median(trials.of(cc, qdisc, rtt_ms, limit), ca_cwnd)
        found.add(f"{qdisc} {own:.0f} kB (x {own / plateau:.2f})", own <= share * plateau)
    return found.outcome()


def start_of_avoidance(
    trials: Trials, cc: str, qdisc: str, between_kb: tuple[float, float], rtt_ms: float = 200, limit: int = 180
) -> Outcome:
    """T032: the window at which congestion avoidance begins."""
    own = median(trials.of(cc, qdisc, rtt_ms, limit), ca_cwnd)
    return Outcome(between_kb[0] <= own <= between_kb[1], f"ca_cwnd {own:.0f} kB")


def early_maximum(trials: Trials, cc: str, qdisc: str, between_kb: tuple[float, float], rtt_ms: float = 200, limit: int = 180) -> Outcome:
    """T029, T074: the first flow's largest window while it is alone."""
    top = median(trials.of(cc, qdisc, rtt_ms, limit), lambda t: float(metrics.in_window(t.flows[0].cwnd_kb, 0, 20)[1].max()))
    return Outcome(between_kb[0] <= top <= between_kb[1], f"max cwnd {top:.0f} kB in 0..20 s")


def end_of_slow_start(
    trials: Trials, cc: str, qdiscs: Sequence[str], between_kb: tuple[float, float], rtt_ms: float = 200, limit: int = 180
) -> Outcome:
    """T033+T035, T077+T079: the window at which slow start ends."""
    found = Findings()
    for qdisc in qdiscs:
        top = median(trials.of(cc, qdisc, rtt_ms, limit), peak)
        found.add(f"{qdisc} {top:.0f} kB before the first reduction", between_kb[0] <= top <= between_kb[1])
    return found.outcome()


def first_halvings(
    trials: Trials,
    cc: str,
    qdiscs: Sequence[str],
    counts: Collection[int],
    between_kb: tuple[float, float],
    of_peak: tuple[float, float] = (0.0, 1.0),
    share: float | None = None,
    rtt_ms: float = 200,
    limit: int = 180,
) -> Outcome:
    """T030+T031+T037, T034+T036, T075+T076, T078+T080: one of these numbers of reductions ends slow start, and they leave the window within
    a range. Medians decide, or `share`: the share of the runs in which all of it holds."""

    def as_claimed(trial: Trial) -> bool:
        found = first_reductions(trial)
        window = ca_cwnd(trial)
        inside = between_kb[0] <= window <= between_kb[1] and of_peak[0] <= window / peak(trial) <= of_peak[1] if found else False
        return len(found) in counts and inside

    found = Findings()
    for qdisc in qdiscs:
        runs = trials.of(cc, qdisc, rtt_ms, limit)
        fraction = share_of(runs, as_claimed)
        number = median(runs, lambda t: len(first_reductions(t)))
        window, part = median(runs, ca_cwnd), median(runs, lambda t: ca_cwnd(t) / peak(t))
        medians = number in counts and between_kb[0] <= window <= between_kb[1] and of_peak[0] <= part <= of_peak[1]
        found.add(
            f"{qdisc}: {number:g} reductions to {window:.0f} kB ({part:.2f} of the peak), as said in {100 * fraction:.0f} %",
            medians if share is None else fraction >= share,
        )
    return found.outcome()


def deficit_from_early_exit(trials: Trials, ccs: Sequence[str] = CCS, qdiscs: Sequence[str] = AQMS) -> Outcome:
    """T041+T083+T088: an AQM loses throughput on the long path because it ends slow start too soon.

    The third condition demands an AQM that is inactive until the window exceeds 400 kB, but the AQM of a control run becomes active at a
    fixed time. Until that time the control run equals the run with tail drop. The check therefore uses the control run with the earliest
    onset at which the window with tail drop has exceeded 400 kB.
    """
    found = Findings()
    uncontrolled = []
    for cc, qdisc in itertools.product(ccs, qdiscs):
        runs = trials.of(cc, qdisc, CONTROL_RTT_MS, CONTROL_LIMIT)
        window = median(runs, ca_cwnd)
        found.add(f"{cc} {qdisc}: ca_cwnd {window:.0f} kB", window < BDP_KB)
        ratio = median(runs, lambda t: t.thr(1, 4, 20) / _window_rate(t))
        found.add(f"throughput x {ratio:.2f} of cwnd/RTT", abs(ratio - 1) <= 0.1)
        tail_drop = trials.of(cc, TAIL_DROP, CONTROL_RTT_MS)
        exceeded = median(tail_drop, lambda t: _exceeds_s(t, SUPPRESSED_KB))
        onset = next((each for each in CONTROL_FROM_S if each >= exceeded), None)
        if onset is None:
            uncontrolled.append(f"{cc} {qdisc}")
            continue
        control = median(trials.of(cc, qdisc, CONTROL_RTT_MS, CONTROL_LIMIT, onset), lambda t: t.agg_thr(0, 20))
        gain = control / median(tail_drop, lambda t: t.agg_thr(0, 20))
        found.add(f"control from {onset:g} s x {gain:.3f} of {TAIL_DROP}", gain >= 0.97)
    if uncontrolled and found.holds:
        text = f"the window does not exceed {SUPPRESSED_KB:g} kB over {TAIL_DROP} in time, no control of {', '.join(uncontrolled)}"
        raise MissingRunError(f"{text}; else: {found.text}")
    return found.outcome()


def _exceeds_s(trial: Trial, kb: float) -> float:
    times, windows = trial.flows[0].cwnd_kb
    above = np.flatnonzero(windows > kb)
    return float(times[above[0]]) if above.size else math.inf


def _window_rate(trial: Trial) -> float:
    """Mean of min(10 Mbit/s, cwnd/RTT) of the first flow over 4..20 s, from each cwnd sample and the latest RTT before it."""
    flow = trial.flows[0]
    times, windows = metrics.in_window(flow.cwnd_kb, 4, 20)
    rtts = flow.rtt_ms[1][np.searchsorted(flow.rtt_ms[0], times, side="right") - 1]
    return float(np.mean(np.minimum(RATE_MBIT, 8 * windows / rtts)))


def _reduction_interval_s(trial: Trial) -> float:
    """Median interval between reductions of cwnd over all flows; NaN if no flow has two reductions."""
    starts = [[each.start_s for each in trial.reductions(flow)] for flow in range(1, len(trial.flows) + 1)]
    between = [later - sooner for each in starts for sooner, later in itertools.pairwise(each)]
    return float(np.median(between)) if between else math.nan
