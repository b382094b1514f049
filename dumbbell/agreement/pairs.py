"""Mixed pairs: how two flows of different congestion controls share a path, as the mean over several starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell import metrics
from dumbbell.agreement.measures import scenario_flows, shares

if TYPE_CHECKING:
    from dumbbell.agreement.comparison import Comparison
    from dumbbell.results import Run
    from dumbbell.scenario import Scenario

NEAR = 0.03
"""The largest difference of mean shares that counts as agreement whatever the interval."""
DEFINITION = (
    f"difference between the engines in the mean over the starts of the first flow's share; it agrees if it is at most {NEAR:g}, or if its "
    "95 % interval (Student's t over the differences start by start) has 0 in it"
)


@dataclass(frozen=True)
class MixedPair:
    """How two flows of different congestion controls share, on two engines."""

    scenario: str
    controls: tuple[str, str]
    """That of the flow whose share is compared first."""
    starts: int
    reference: float
    ours: float
    """Mean shares of the first flow."""
    low: float
    high: float
    """95 % interval of their difference, dumbbell's less the reference's; both equal it if all starts differ by the same."""

    @property
    def difference(self) -> float:
        """Dumbbell's less the reference's."""
        return self.ours - self.reference

    @property
    def near(self) -> bool:
        """True if the difference is small, whatever its interval."""
        return abs(self.difference) <= NEAR

    @property
    def agrees(self) -> bool:
        """True if the difference is small, or may well be none."""
        return self.near or self.low <= 0 <= self.high

    def as_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**vars(self), "controls": list(self.controls), "difference": self.difference, "agrees": self.agrees}


def is_mixed_pair(scenario: Scenario) -> bool:
    """True if its bulk flows are two, with different congestion controls and several starts."""
    return len(scenario.flows) == 2 and len({flow.cc.kind for flow in scenario.flows}) == 2 and _single(scenario) and scenario.repeat > 1


def _single(scenario: Scenario) -> bool:
    return all(flow.count == 1 for flow in scenario.flows)


def mixed_pairs(compared: Comparison) -> list[MixedPair]:
    """Return the mixed pair of each scenario that is one, in order."""
    runs: dict[str, list[tuple[Run, Run]]] = {}
    for reference, ours in compared.pairs:
        runs.setdefault(reference.name, []).append((reference, ours))
    found = (
        mixed_pair(scenario.name, runs.get(scenario.name, [])) for scenario in compared.scenario_set.scenarios if is_mixed_pair(scenario)
    )
    return [each for each in found if each is not None]


def mixed_pair(scenario: str, runs: Sequence[tuple[Run, Run]]) -> MixedPair | None:
    """Return the pair from (reference, dumbbell) of each start; None if less than two starts have arrivals on both engines."""
    values = []
    for pair in runs:
        first = next(iter(scenario_flows(pair[0])))
        values.append([shares(run).get(first, np.nan) for run in pair])
    known = np.array([each for each in values if np.all(np.isfinite(each))])
    if len(known) < 2:
        return None
    theirs, ours = (float(np.mean(known[:, side])) for side in (0, 1))
    low, high = _interval(known[:, 1] - known[:, 0])
    first, second = (flow.cc.kind for flow in scenario_flows(runs[0][0]).values())
    return MixedPair(scenario, (first, second), len(known), theirs, ours, low, high)


def _interval(differences: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of their mean; the mean itself if they are all the same."""
    if np.ptp(differences) == 0:
        return float(differences[0]), float(differences[0])
    _, low, high = metrics.confidence_interval(differences)
    return low, high


def summary(found: Sequence[MixedPair]) -> dict[str, Any]:
    """Summarise all pairs, as plain data."""
    if not found:
        return {"pairs": 0, "each": []}
    differences = [abs(each.difference) for each in found]
    return {
        "pairs": len(found),
        "agree": fmean(each.agrees for each in found),
        "near": fmean(each.near for each in found),
        "median": median(differences),
        "p95": float(np.percentile(differences, 95)),
        "interval": median((each.high - each.low) / 2 for each in found),
        "each": [each.as_json() for each in found],
    }
