"""Further jittered starts, until the means of a scenario are known well enough for two engines to be distinguished.

With ten starts a scenario whose flows take turns at random has means that are known to a few per cent only: two equal engines differ by as
much. The rule looks at the reference alone, so that no difference between the engines decides how often a scenario runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, TypeAlias

from dumbbell.agreement.measures import ALL, METRICS, measures

if TYPE_CHECKING:
    from dumbbell.results import Run

MOST_STARTS = 100
"""Maximum number of starts on the reference."""
OURS = 4
"""Number of our starts for each of the reference's, where a scenario has several: our runs are cheap, and our scatter is to add little."""
_MEANS = ("goodput", "rtt_mean")
Means: TypeAlias = Mapping[str, float]
"""Mean goodput and mean srtt over all flows of a run by metric; those that it has."""


def means(run: Run) -> Means:
    """Return the means of a run; none of an invalid one. Reads the series of the run."""
    found = {} if run.status == "invalid" else measures(run)
    return {metric: found[ALL, metric] for metric in _MEANS if (ALL, metric) in found}


@dataclass(frozen=True)
class Precision:
    """The standard error that the reference's mean goodput and mean srtt over all flows may have."""

    share: float
    """Maximum standard error as a share of the mean."""
    step: int
    """Number of starts that a scenario gets at a time."""

    def further(self, reference: Sequence[Sequence[Means]]) -> list[range]:
        """Return the further starts of each scenario, by the means of those that it has; empty where it needs none."""
        return [range(len(runs), min(len(runs) + self.step, MOST_STARTS)) if self._wants(runs) else range(0) for runs in reference]

    def our_starts(self, count: int) -> int:
        """Return how many starts our engine has where the reference has `count`."""
        return OURS * count if count > 1 else count

    def _wants(self, runs: Sequence[Means]) -> bool:
        if not 1 < len(runs) < MOST_STARTS:
            return False
        return any(self._is_wide([each[metric] for each in runs if metric in each], METRICS[metric].floor) for metric in _MEANS)

    def _is_wide(self, values: Sequence[float], floor: float) -> bool:
        finite = [value for value in values if math.isfinite(value)]
        if len(finite) < 2:
            return False
        return stdev(finite) / math.sqrt(len(finite)) > self.share * max(abs(fmean(finite)), floor)
