"""Claims about fairness: how flows share the bottleneck."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from dumbbell.study.claims import Findings, MissingRunError, Outcome
from dumbbell_studies.teacup.claims.evidence import CCS, MIN_SEEDS, median
from dumbbell_studies.teacup.scenarios import AQMS, TAIL_DROP
from dumbbell_studies.teacup.trials import EPOCHS_S, STEPS_S, Trial, Trials, steps_within

SINGLE_QUEUE_AQMS = ("pie", "codel")
"""AQMs with one queue for all flows."""


def mean_jain2(trial: Trial) -> float:
    """Mean of jain2 over all epochs."""
    return float(np.nanmean(trial.jain2()))


def least_jain2(trial: Trial) -> float:
    """Minimum of jain2 over all epochs."""
    return float(np.nanmin(trial.jain2()))


def mean_cov(trial: Trial) -> float:
    """Mean over flows of the CoV of the 2 s rates."""
    return float(np.mean(trial.covs()))


def smoother_with_flow_queues(trials: Trials, ccs: Sequence[str] = CCS, rtt_ms: float = 20, limit: int = 180) -> Outcome:
    """T002+T086: fq_codel shares more equally and more steadily than PIE or CoDel."""
    found = Findings()
    for cc in ccs:
        jain = {qdisc: median(trials.of(cc, qdisc, rtt_ms, limit), mean_jain2) for qdisc in AQMS}
        cov = {qdisc: median(trials.of(cc, qdisc, rtt_ms, limit), mean_cov) for qdisc in AQMS}
        own = "fq_codel"
        found.add(f"{cc}: mean jain2 {_by_qdisc(jain)}", all(jain[own] > jain[other] for other in SINGLE_QUEUE_AQMS))
        found.add(f"CoV {_by_qdisc(cov)}", cov[own] <= 0.7 * min(cov[other] for other in SINGLE_QUEUE_AQMS))
    return found.outcome()


def share_differs_between_runs(trials: Trials, cc: str, qdisc: str = TAIL_DROP, rtt_ms: float = 20, limit: int = 180) -> Outcome:
    """T005+T008: the second flow's share from 40 to 80 s depends on the run."""
    found = _several(trials.of(cc, qdisc, rtt_ms, limit))
    shares = []
    for trial in found:
        rates = [trial.thr(flow, 40, 80) for flow in (1, 2, 3)]
        shares.append(rates[1] / sum(rates))
    return _spread(shares, "share of flow 2")


def split_differs_between_runs(trials: Trials, cc: str, qdisc: str = TAIL_DROP, rtt_ms: float = 20, limit: int = 180) -> Outcome:
    """T045: the split between flows 2 and 3 from 40 to 80 s depends on the run."""
    found = _several(trials.of(cc, qdisc, rtt_ms, limit))
    return _spread([t.thr(2, 40, 80) / (t.thr(2, 40, 80) + t.thr(3, 40, 80)) for t in found], "thr2/(thr2+thr3)")


def coarse_sharing(
    trials: Trials,
    cc: str,
    mean: tuple[float, float],
    least: float | None = None,
    qdisc: str = TAIL_DROP,
    rtt_ms: float = 20,
    limit: int = 180,
) -> Outcome:
    """T006, T042: mean jain2 is within a range, and its minimum is below `least`."""
    runs = trials.of(cc, qdisc, rtt_ms, limit)
    found = Findings()
    middle = median(runs, mean_jain2)
    found.add(f"mean jain2 {middle:.3f}", mean[0] <= middle <= mean[1])
    if least is not None:
        lowest = median(runs, least_jain2)
        found.add(f"min jain2 {lowest:.3f}", lowest < least)
    return found.outcome()


def diverging_shares(trials: Trials, cc: str, qdisc: str = TAIL_DROP, rtt_ms: float = 20, limit: int = 180) -> Outcome:
    """T007: equal shares with two flows, less equal with three."""
    runs = trials.of(cc, qdisc, rtt_ms, limit)
    two, three = (median(runs, lambda t, epoch=epoch: t.jain(*epoch)) for epoch in EPOCHS_S[:2])  # type: ignore[misc]
    change = median(runs, lambda t: t.jain(*EPOCHS_S[1]) - t.jain(*EPOCHS_S[0]))
    found = Findings()
    found.add(f"jain(25..40) {two:.3f}", two >= 0.95)
    found.add(f"jain(45..60) {three:.3f}, change {change:+.3f}", change <= -0.02)
    return found.outcome()


def uneven_epoch(trials: Trials, cc: str, qdisc: str = TAIL_DROP, rtt_ms: float = 200, limit: int = 180) -> Outcome:
    """T012, T047: poor sharing overall, and an epoch in which one flow gets 1.5 times another's."""
    runs = trials.of(cc, qdisc, rtt_ms, limit)
    middle = median(runs, mean_jain2)
    ratio = median(runs, lambda t: max(max(s.values()) / min(s.values()) for s in (t.shares(*epoch) for epoch in EPOCHS_S)))
    found = Findings()
    found.add(f"mean jain2 {middle:.3f}", middle <= 0.95)
    found.add(f"greatest over least share {ratio:.2f}", ratio >= 1.5)
    return found.outcome()


def even_shares(
    trials: Trials,
    ccs: Sequence[str],
    qdiscs: Sequence[str],
    jain: float,
    cov: tuple[float, float],
    rtt_ms: float = 20,
    limits: Sequence[int] = (180,),
) -> Outcome:
    """T018+T019, T020+T040, T062+T063, T064+T082: Jain's index of every epoch, and the CoV of every flow's 2 s rates.

    With fq_codel, an index near 1 also proves that the three flows have separate queues. If two flows share a queue, each gets half the
    rate of the third, and the index is 0.89.
    """
    found = Findings()
    for cc, qdisc, limit in itertools.product(ccs, qdiscs, limits):
        runs = trials.of(cc, qdisc, rtt_ms, limit)
        epochs = [median(runs, lambda t, epoch=epoch: t.jain(*epoch)) for epoch in EPOCHS_S]  # type: ignore[misc]
        covs = [median(runs, lambda t, flow=flow: t.covs()[flow]) for flow in range(3)]  # type: ignore[misc]
        found.add(f"{cc} {qdisc}{f' {limit}p' if len(limits) > 1 else ''}: jain {_list(epochs, '.3f')}", min(epochs) >= jain)
        found.add(f"CoV {_list(covs, '.2f')}", all(cov[0] <= value <= cov[1] for value in covs))
    return found.outcome()


def incumbent_dominates(trials: Trials, cc: str, qdisc: str = TAIL_DROP, rtt_ms: float = 20, limit: int = 180) -> Outcome:
    """T043+T044: the first flow keeps a larger share than the second, which gains slowly; three flows stay unequal."""
    runs = trials.of(cc, qdisc, rtt_ms, limit)
    steps = steps_within(22, 40)
    ratio = median(runs, lambda t: t.thr(1, 20, 40) / t.thr(2, 20, 40))
    slope = median(runs, lambda t: float(np.polyfit(STEPS_S[steps], t.thr2[1, steps], 1)[0]))
    three = median(runs, lambda t: t.jain(45, 60))
    found = Findings()
    found.add(f"flow 1 over flow 2 in 20..40 s {ratio:.2f}", ratio >= 1.5)
    found.add(f"flow 2 gains {slope:+.3f} Mbit/s a second", slope > 0)
    found.add(f"jain(45..60) {three:.3f}", three <= 0.95)
    return found.outcome()


def _several(runs: list[Trial]) -> list[Trial]:
    if len(runs) < MIN_SEEDS:
        raise MissingRunError(f"too few seeds ({len(runs)}): a spread needs {MIN_SEEDS}")
    return runs


def _spread(values: Sequence[float], what: str) -> Outcome:
    wide = max(values) - min(values)
    return Outcome(wide >= 0.05, f"{what} from {min(values):.3f} to {max(values):.3f} over {len(values)} runs")


def _by_qdisc(values: dict[str, float]) -> str:
    return ", ".join(f"{qdisc} {value:.3f}" for qdisc, value in values.items())


def _list(values: Sequence[float], form: str) -> str:
    return " ".join(f"{value:{form}}" for value in values)
