"""What the checks have in common: medians over repeats, and findings gathered into an outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dumbbell.studies.claims import MissingRunError, Outcome
from dumbbell.studies.teacup.trials import Trial

CCS = ("newreno", "cubic")
MIN_SEEDS = 10
"""Least repeats from which a spread over repeats is judged."""


def median(trials: Sequence[Trial], of: Callable[[Trial], float]) -> float:
    """The median over repeats; those without a value (NaN) are left out. MissingRunError if that is all of them."""
    values = [value for value in map(of, trials) if not np.isnan(value)]
    if not values:
        raise MissingRunError(f"no value in {len(trials)} runs of {name(trials[0])}")
    return float(np.median(values))


def share_of(trials: Sequence[Trial], holds: Callable[[Trial], bool]) -> float:
    """Share of the repeats for which something holds."""
    return sum(map(holds, trials)) / len(trials)


def name(trial: Trial) -> str:
    """The experiment in a few words."""
    which = trial.experiment
    return f"{which.cc} {which.qdisc} {which.rtt_ms:g} ms" + (f" {which.limit_packets}p" if which.limit_packets != 180 else "")


class Findings:
    """Conditions of one claim, each with what was measured."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._holds = True

    def add(self, text: str, holds: bool) -> None:
        """One condition; in the outcome's text one that does not hold is marked."""
        self._texts.append(text if holds else f"{text} [no]")
        self._holds = self._holds and bool(holds)

    @property
    def holds(self) -> bool:
        """Whether all conditions so far hold."""
        return self._holds

    @property
    def text(self) -> str:
        """What was measured."""
        return "; ".join(self._texts)

    def outcome(self) -> Outcome:
        """The verdict over all conditions."""
        return Outcome(self._holds, self.text)
