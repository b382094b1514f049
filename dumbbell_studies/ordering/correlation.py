"""Correlations over all runs: does the variability of the aggregate, or that of each flow, say more of the network's stability?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dumbbell import metrics
from dumbbell.comparing.tables import Table
from dumbbell_studies.ordering.controls import PROTOCOLS
from dumbbell_studies.ordering.trials import Trial, Trials

ENVIRONMENTS: Mapping[str, bool] = {"moderate": False, "congested": True}
"""The page's two, and whether the link is congested by long-lived flows."""
PREDICTORS: Mapping[str, Callable[[Trial], float]] = {"CoV-PTA": lambda t: t.cov_pta, "CoV-PTP": lambda t: t.cov_ptp}
OUTCOMES: Mapping[str, Callable[[Trial], float]] = {
    "utilisation": lambda t: t.utilization,
    "queue CoV": lambda t: t.queue_cov,
    "utilisation CoV": lambda t: t.utilization_cov,
}
LEAST_RUNS = 30
"""For a correlation that is worth a claim."""


@dataclass(frozen=True)
class Correlation:
    """Correlation of a predictor with an outcome, over the runs of an environment."""

    environment: str
    outcome: str
    predictor: str
    runs: int
    r: float
    low: float
    """Confidence limits, Fisher's z."""
    high: float
    within: float
    """Mean over protocols of the correlation over the runs of each: without what protocols differ by."""


def correlations(found: Trials) -> list[Correlation]:
    """All of them, of the environments with runs of high-speed flows."""
    made = []
    for environment, congested in ENVIRONMENTS.items():
        trials = [
            t for (name, condition), repeats in found.own.items() if name in PROTOCOLS and condition.congested == congested for t in repeats
        ]
        if len(trials) < 4:
            continue
        for outcome, outcome_of in OUTCOMES.items():
            for predictor, predictor_of in PREDICTORS.items():
                x, y = _pairs(trials, predictor_of, outcome_of)
                within = [_pairs([t for t in trials if t.protocol == name], predictor_of, outcome_of) for name in PROTOCOLS]
                each = [metrics.correlation(*pair)[0] for pair in within if len(pair[0]) >= 4]
                limits = metrics.correlation(x, y) if len(x) >= 4 else (math.nan, math.nan, math.nan)
                made.append(Correlation(environment, outcome, predictor, len(x), *limits, float(np.mean(each)) if each else math.nan))
    return made


def table(found: Trials) -> Table:
    """One row per environment, outcome and predictor."""
    rows = [
        [c.environment, c.outcome, c.predictor, str(c.runs), f"{c.r:+.3f}", f"{c.low:+.3f} to {c.high:+.3f}", f"{c.within:+.3f}"]
        for c in correlations(found)
    ]
    heads = ["environment", "of", "with", "runs", "Pearson", "95 %", "within protocols"]
    return Table("Correlations over runs", heads, rows)


def _pairs(trials: Sequence[Trial], x: Callable[[Trial], float], y: Callable[[Trial], float]) -> tuple[list[float], list[float]]:
    """The values of the runs that have both."""
    both = [(x(trial), y(trial)) for trial in trials]
    kept = [pair for pair in both if all(map(math.isfinite, pair))]
    return [pair[0] for pair in kept], [pair[1] for pair in kept]
