"""Claims about RTT and queueing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from dumbbell import metrics
from dumbbell.study.claims import Findings, Outcome
from dumbbell_studies.teacup.claims.evidence import CCS, median
from dumbbell_studies.teacup.claims.sharing import mean_jain2
from dumbbell_studies.teacup.scenarios import AQMS, RTTS_MS, STARTS_S, TAIL_DROP
from dumbbell_studies.teacup.trials import EPOCHS_S, SETTLED_S, Trial, Trials

WHOLE_S = ((0.0, 101.0),)
AFTER_STARTS_S = tuple((start, start + 5) for start in STARTS_S)
BIN_S = 0.1
CYCLE_GAP_S = 0.5
"""Drops that are further apart belong to different cycles of the saw-tooth. It is about twice the RTT with a full queue."""


def percentile(trial: Trial, q: float, windows: Sequence[tuple[float, float]] = SETTLED_S) -> float:
    """Percentile of the RTT samples of all flows, ms."""
    return float(np.percentile(trial.rtt(windows), q))


def aqm_removes_standing_queue(trials: Trials, ccs: Sequence[str] = CCS, rtt_ms: float = 20, limit: int = 180) -> Outcome:
    """T001+T084+T085: tail drop has a standing queue, an AQM does not, and throughput is nearly the same."""
    found = Findings()
    for cc in ccs:
        tail_drop = trials.of(cc, TAIL_DROP, rtt_ms)
        full, rate = median(tail_drop, lambda t: percentile(t, 50, WHOLE_S)), median(tail_drop, lambda t: t.agg_thr(2, 98))
        found.add(f"{cc} {TAIL_DROP}: p50 {full:.0f} ms, {rate:.2f} Mbit/s", full - rtt_ms >= 80)
        for qdisc in AQMS:
            runs = trials.of(cc, qdisc, rtt_ms, limit)
            middle, own = median(runs, lambda t: percentile(t, 50, WHOLE_S)), median(runs, lambda t: t.agg_thr(2, 98))
            found.add(f"{qdisc} p50 {middle:.0f} ms, throughput x {own / rate:.3f}", middle <= 0.5 * full and own >= 0.92 * rate)
    return found.outcome()


def aqm_shares_better_and_queues_less(
    trials: Trials, ccs: Sequence[str], rtt_ms: float = 20, limits: Sequence[int] = (180, 2000), qdiscs: Sequence[str] = AQMS
) -> Outcome:
    """T017+T038: an AQM has a higher mean jain2 than tail drop, and a much lower p95 of the RTT."""
    found = Findings()
    for cc in ccs:
        tail_drop = trials.of(cc, TAIL_DROP, rtt_ms)
        jain, high = median(tail_drop, mean_jain2), median(tail_drop, lambda t: percentile(t, 95, WHOLE_S))
        found.add(f"{cc} {TAIL_DROP}: jain2 {jain:.3f}, p95 {high:.0f} ms", True)
        for qdisc, limit in itertools.product(qdiscs, limits):
            runs = trials.of(cc, qdisc, rtt_ms, limit)
            own, p95 = median(runs, mean_jain2), median(runs, lambda t: percentile(t, 95, WHOLE_S))
            found.add(f"{qdisc} {limit}p {own:.3f}, {p95:.0f} ms", own > jain and p95 <= 0.4 * high)
    return found.outcome()


def aqm_shares_better_and_adds_less(
    trials: Trials, cc: str, share: float = 0.4, cases: Sequence[tuple[float, int]] = ((20, 180), (20, 2000), (200, 180))
) -> Outcome:
    """T061+T081: an AQM adds much less delay than tail drop, and at 20 ms it has a higher mean jain2.

    `cases`: base RTT (ms) and limit of the AQM (packets).
    """
    found = Findings()
    for rtt_ms, limit in cases:
        tail_drop = trials.of(cc, TAIL_DROP, rtt_ms)
        jain, high = median(tail_drop, mean_jain2), median(tail_drop, lambda t: percentile(t, 95)) - rtt_ms
        found.add(f"{rtt_ms:g} ms {TAIL_DROP}: jain2 {jain:.3f}, p95 {high:.0f} ms over the base", True)
        for qdisc in AQMS:
            runs = trials.of(cc, qdisc, rtt_ms, limit)
            own, p95 = median(runs, mean_jain2), median(runs, lambda t: percentile(t, 95)) - rtt_ms
            found.add(f"{qdisc} {limit}p {own:.3f}, {p95:.0f} ms", (own > jain or rtt_ms != min(RTTS_MS)) and p95 <= share * high)
    return found.outcome()


def less_smooth(trials: Trials, cc: str, factor: float = 1.5, rough: str = "pie", rtt_ms: float = 200, limit: int = 180) -> Outcome:
    """T071: the standard deviation of the RTT is larger with one AQM than with the others."""
    deviations = {qdisc: median(trials.of(cc, qdisc, rtt_ms, limit), lambda t: float(t.rtt(SETTLED_S).std())) for qdisc in AQMS}
    others = max(value for qdisc, value in deviations.items() if qdisc != rough)
    text = ", ".join(f"{qdisc} {value:.1f}" for qdisc, value in deviations.items())
    return Outcome(deviations[rough] >= factor * others, f"standard deviation {text} ms")


def saw_tooth(
    trials: Trials,
    cc: str,
    top_ms: tuple[float, float],
    bottom_ms: tuple[float, float] | None,
    each_epoch: bool = False,
    qdisc: str = TAIL_DROP,
    rtt_ms: float = 20,
    limit: int = 180,
) -> Outcome:
    """T009, T046: maximum RTT (after the first slow start, or of each epoch), minima of the cycles, and equal RTT of all flows."""
    runs = trials.of(cc, qdisc, rtt_ms, limit)
    found = Findings()
    if each_epoch:
        tops = [median(runs, lambda t, epoch=epoch: float(t.rtt([epoch]).max())) for epoch in EPOCHS_S]  # type: ignore[misc]
    else:
        tops = [median(runs, lambda t: float(t.rtt([(_first_loss_s(t) + CYCLE_GAP_S, 101.0)]).max()))]
    found.add(f"max {' '.join(f'{top:.0f}' for top in tops)} ms", all(top_ms[0] <= top <= top_ms[1] for top in tops))
    if bottom_ms is not None:
        bottom = median(runs, _cycle_minimum)
        found.add(f"minima of cycles {bottom:.0f} ms", bottom_ms[0] <= bottom <= bottom_ms[1])
    difference = median(runs, _rtt_difference_ms)
    found.add(f"flows apart by {difference:.1f} ms", difference <= 15)
    return found.outcome()


def full_queue(
    trials: Trials, ccs: Sequence[str] = CCS, rtts_ms: Sequence[float] = RTTS_MS, qdisc: str = TAIL_DROP, limit: int = 180
) -> Outcome:
    """T010+T011: a full queue of 180 packets adds 216 to 218 ms; the queue of the ACKs adds almost nothing."""
    found = Findings()
    for cc, rtt_ms in itertools.product(ccs, rtts_ms):
        runs = trials.of(cc, qdisc, rtt_ms, limit)
        forward = median(runs, lambda t: float(np.nanmax(t.forward_ms[1])))
        reverse = median(runs, lambda t: metrics.percentile(t.reverse_ms, 99))
        found.add(f"{cc} {rtt_ms:g} ms: data {forward:.1f} ms, ACKs {reverse:.2f} ms", 212 <= forward <= 222 and reverse <= 5)
    return found.outcome()


def queueing_adds(
    trials: Trials,
    cc: str,
    added_ms: tuple[float, float],
    windows: Sequence[tuple[float, float]] = WHOLE_S,
    qdisc: str = TAIL_DROP,
    rtt_ms: float = 200,
    limit: int = 180,
) -> Outcome:
    """T016, T054: delay that the full queue adds to the base RTT."""
    added = median(trials.of(cc, qdisc, rtt_ms, limit), lambda t: float(t.rtt(windows).max())) - rtt_ms
    return Outcome(added_ms[0] <= added <= added_ms[1], f"max(rtt)-{rtt_ms:g} = {added:.0f} ms")


def widest_band(
    trials: Trials, ccs: Sequence[str], band_ms: float = 35, wide: str = "pie", rtt_ms: float = 20, limit: int = 180
) -> Outcome:
    """T021, T065: p95 of the RTT stays within a band above the base RTT, and p95 - p5 is larger than with the other AQMs."""
    found = Findings()
    for cc in ccs:
        own = trials.of(cc, wide, rtt_ms, limit)
        over = median(own, lambda t: percentile(t, 95)) - rtt_ms
        width = median(own, _width)
        others = {qdisc: median(trials.of(cc, qdisc, rtt_ms, limit), _width) for qdisc in AQMS if qdisc != wide}
        found.add(f"{cc} {wide}: p95 {over:.1f} ms over the base", over <= band_ms)
        widths = ", ".join(f"{qdisc} {value:.1f}" for qdisc, value in others.items())
        found.add(f"p95-p5 {width:.1f} ms; {widths}", all(width > value for value in others.values()))
    return found.outcome()


def narrow_band(
    trials: Trials, ccs: Sequence[str], qdiscs: Sequence[str] = ("codel", "fq_codel"), rtt_ms: float = 20, limit: int = 180
) -> Outcome:
    """T022+T023, T066+T067: p95 of the RTT is about 10 to 15 ms above the base RTT."""
    found = Findings()
    for cc, qdisc in itertools.product(ccs, qdiscs):
        over = median(trials.of(cc, qdisc, rtt_ms, limit), lambda t: percentile(t, 95)) - rtt_ms
        found.add(f"{cc} {qdisc}: p95 {over:.1f} ms over the base", 4 <= over <= 18)
    return found.outcome()


def limit_changes_nothing(
    trials: Trials, ccs: Sequence[str], qdiscs: Sequence[str] = AQMS, rtt_ms: float = 20, limits: tuple[int, int] = (180, 2000)
) -> Outcome:
    """T024+T025, T068+T069: with an AQM, a larger buffer changes neither RTT nor fairness nor throughput.

    CUBIC through codel with 2000 packets is claimed, but not shown in the report; it is a prediction.
    """
    found = Findings()
    for cc, qdisc in itertools.product(ccs, qdiscs):
        small, large = (trials.of(cc, qdisc, rtt_ms, limit) for limit in limits)

        def change(method: str, *arguments: float, small: list[Trial] = small, large: list[Trial] = large) -> float:
            before, after = (median(runs, lambda t: float(getattr(t, method)(*arguments))) for runs in (small, large))
            return after - before

        delay = median(large, lambda t: percentile(t, 95)) - median(small, lambda t: percentile(t, 95))
        jain = max((change("jain", *epoch) for epoch in EPOCHS_S), key=abs)
        rate = change("agg_thr", 0, 100) / median(small, lambda t: t.agg_thr(0, 100))
        found.add(
            f"{cc} {qdisc}: p95 {delay:+.1f} ms, jain {jain:+.3f}, throughput {100 * rate:+.1f} %",
            abs(delay) <= 8 and abs(jain) <= 0.05 and abs(rate) <= 0.03,
        )
    return found.outcome()


def spike_then_settle(
    trials: Trials,
    ccs: Sequence[str],
    spike_ms: float = 230,
    settled_ms: float = 225,
    pie_settled_ms: float = 225,
    qdiscs: Sequence[str] = AQMS,
    rtt_ms: float = 200,
    limit: int = 180,
) -> Outcome:
    """T026, T070: the RTT jumps within 5 s after each start, and is close to the base RTT otherwise."""
    found = Findings()
    for cc, qdisc in itertools.product(ccs, qdiscs):
        runs = trials.of(cc, qdisc, rtt_ms, limit)
        spikes = [median(runs, lambda t, window=window: float(t.rtt([window]).max())) for window in AFTER_STARTS_S]  # type: ignore[misc]
        middle = median(runs, lambda t: percentile(t, 50))
        found.add(
            f"{cc} {qdisc}: {' '.join(f'{spike:.0f}' for spike in spikes)} ms after starts, p50 {middle:.0f} ms",
            min(spikes) >= spike_ms and middle <= (pie_settled_ms if qdisc == "pie" else settled_ms),
        )
    return found.outcome()


def _width(trial: Trial) -> float:
    return percentile(trial, 95) - percentile(trial, 5)


def _first_loss_s(trial: Trial) -> float:
    return metrics.first_increase(trial.drops)


def _cycle_minimum(trial: Trial) -> float:
    """Median of the minimum RTTs of all cycles. A cycle lasts from one burst of drops to the next."""
    drops = metrics.bursts(trial.drops, CYCLE_GAP_S)
    least = [trial.rtt([(last, first)]) for (_, last), (first, _) in itertools.pairwise(drops)]
    return float(np.median([float(rtts.min()) for rtts in least if rtts.size])) if least else float("nan")


def _rtt_difference_ms(trial: Trial) -> float:
    """Median difference between the RTTs of two flows in the same 100 ms, over all pairs of flows."""
    edges = np.arange(0, 100 + BIN_S / 2, BIN_S)
    means = [metrics.binned(flow.rtt_ms, edges) for flow in trial.flows]
    differences = np.concatenate([np.abs(one - other) for one, other in itertools.combinations(means, 2)])
    return float(np.nanmedian(differences))
