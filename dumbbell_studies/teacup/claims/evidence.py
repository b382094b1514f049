"""Common to all checks: medians over seeds, and shares of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dumbbell.study.claims import MissingRunError
from dumbbell_studies.teacup.trials import Trial

CCS = ("newreno", "cubic")
MIN_SEEDS = 10
"""Minimum number of runs for judging a spread over seeds."""


def median(trials: Sequence[Trial], value_of: Callable[[Trial], float]) -> float:
    """The median over seeds, ignoring NaN. Raises `MissingRunError` if all values are NaN."""
    values = [value for value in map(value_of, trials) if not np.isnan(value)]
    if not values:
        raise MissingRunError(f"no value in {len(trials)} runs of {name(trials[0])}")
    return float(np.median(values))


def share_of(trials: Sequence[Trial], holds: Callable[[Trial], bool]) -> float:
    """Share of the runs for which a condition holds."""
    return sum(map(holds, trials)) / len(trials)


def name(trial: Trial) -> str:
    """The experiment in a few words, for messages."""
    experiment = trial.experiment
    limit = f" {experiment.limit_packets}p" if experiment.limit_packets != 180 else ""
    return f"{experiment.cc} {experiment.qdisc} {experiment.rtt_ms:g} ms{limit}"
