"""Stability of high-speed flows: how much of the link is used, and how steadily the flows use it, as means over several starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell import metrics
from dumbbell.agreement.highspeed import BOTTLENECK, HIGH_SPEED, SECONDS, WARM_UP_S
from dumbbell.agreement.measures import scenario_flows
from dumbbell.scenario.units import FRAME_BYTES

if TYPE_CHECKING:
    from dumbbell.agreement.comparison import Comparison
    from dumbbell.results import Run

SET = "stability"
UTILISATION, VARIATION = 0.01, 0.15
"""The largest differences that count as agreement: of link utilisation, and of CoV-PTA relative to the reference's."""
_WINDOW = f"{WARM_UP_S} to {SECONDS} s"
DEFINITIONS = {
    "link utilisation": (
        f"what left the shared queue from {_WINDOW} over what its rate allows, all traffic counted, mean over the starts. It agrees "
        f"within {UTILISATION:g}"
    ),
    "CoV-PTA": (
        "coefficient of variation, over the seconds of that time, of what the high-speed flows together brought through the queue: "
        "segments that their senders know to be delivered, by ACK or SACK, so that a second is late by the way back; mean over the starts. "
        f"It agrees within {100 * VARIATION:g} % of the reference's"
    ),
    "±": (
        "standard error of the difference of two means, from the differences start by start: in a start both engines have the same web "
        "transfers"
    ),
    "of equal engines": (
        "share of the scenarios that would be expected to agree if nothing but chance kept runs apart, as far as it does here (Student's t "
        "over the differences start by start)"
    ),
}
"""Measures, each with its window."""


@dataclass(frozen=True)
class Mean:
    """The mean of a measure over the starts of a scenario, on two engines."""

    reference: float
    ours: float
    error: float
    """Standard error of the difference of the means."""
    scatter: float
    """Standard deviation of the reference's runs."""
    bar: float
    """The largest difference that counts as agreement."""
    starts: int

    @classmethod
    def of(cls, theirs: Sequence[float], ours: Sequence[float], bar: float, relative: bool = False) -> Mean:
        """Return the mean of the values of two or more starts. A relative target is relative to the reference's mean."""
        n, apart = len(theirs), np.subtract(ours, theirs)
        error, scatter = (float(np.std(values, ddof=1)) for values in (apart, theirs))
        return cls(fmean(theirs), fmean(ours), error / math.sqrt(n), scatter, bar * (fmean(theirs) if relative else 1), n)

    @property
    def difference(self) -> float:
        """Dumbbell's less the reference's."""
        return self.ours - self.reference

    @property
    def near(self) -> bool:
        """True if the engines agree."""
        return abs(self.difference) <= self.bar

    @property
    def equal(self) -> float:
        """How likely the means of engines whose runs differ by chance alone, as much as these, would agree (Student's t)."""
        from scipy.stats import t

        return float(2 * t.cdf(self.bar / self.error, self.starts - 1) - 1) if self.error else 1.0

    def as_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        values = {name: getattr(self, name) for name in ("reference", "ours", "error", "scatter", "equal")}
        return {**values, "near": self.near}


@dataclass(frozen=True)
class Stability:
    """How steadily a scenario runs on two engines."""

    scenario: str
    control: str
    """Congestion control of the high-speed flows."""
    utilisation: Mean
    variation: Mean

    @property
    def agrees(self) -> bool:
        """True if both measures agree."""
        return self.utilisation.near and self.variation.near

    def as_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        means = {name: getattr(self, name).as_json() for name in _MEASURES}
        return {"scenario": self.scenario, "control": self.control, "starts": self.utilisation.starts, "agrees": self.agrees, **means}


_MEASURES = ("utilisation", "variation")


def stabilities(compared: Comparison) -> list[Stability]:
    """Return the stability of each scenario of the set `stability` with two or more starts that are valid on both engines, in order."""
    if compared.scenario_set.name != SET:
        return []
    runs: dict[str, list[tuple[Run, Run]]] = {}
    for reference, ours in compared.pairs:
        runs.setdefault(reference.name, []).append((reference, ours))
    return [
        stability(scenario.name, found) for scenario in compared.scenario_set.scenarios if len(found := runs.get(scenario.name, [])) > 1
    ]


def stability(scenario: str, pairs: Sequence[tuple[Run, Run]]) -> Stability:
    """Return the stability from (reference, dumbbell) of each start."""
    theirs, ours = (np.array([measured(pair[side]) for pair in pairs]).T.tolist() for side in (0, 1))
    return Stability(
        scenario,
        next(iter(scenario_flows(pairs[0][0]).values())).cc.kind,
        Mean.of(theirs[0], ours[0], UTILISATION),
        Mean.of(theirs[1], ours[1], VARIATION, relative=True),
    )


def measured(run: Run) -> tuple[float, float]:
    """Link utilisation and CoV-PTA of a run."""
    from dumbbell.results.capacity import capacities

    series = run.all_series("sent_bytes", "delivered")
    window = float(WARM_UP_S), float(SECONDS)
    flows = [found for (entity, name), found in sorted(series.items()) if name == "delivered" and entity.startswith(f"flow/{HIGH_SPEED}")]
    # All segments but a few are full; how long a packet is does not matter to a coefficient of variation.
    bits = np.array([metrics.bits_by_bin((times, FRAME_BYTES * segments), *window) for times, segments in flows])
    sent = metrics.bits_by_bin(series[f"port/{BOTTLENECK}", "sent_bytes"], *window)
    capacity_bps = 1e6 * capacities(run)[BOTTLENECK].mean_mbit(*window)
    return metrics.link_utilisation(sent, capacity_bps), metrics.aggregate_variation(bits)


def summary(found: Sequence[Stability]) -> dict[str, Any]:
    """Summarise all scenarios, as plain data. Differences and errors of CoV-PTA are relative to the reference's."""
    if not found:
        return {"scenarios": 0, "each": []}
    utilisation = _over_all([(each.utilisation, 1.0) for each in found])
    variation = _over_all([(each.variation, each.variation.reference) for each in found])
    steady, listed = fmean(each.agrees for each in found), [each.as_json() for each in found]
    return {"scenarios": len(found), "steady": steady, "utilisation": utilisation, "variation": variation, "each": listed}


def _over_all(means: Sequence[tuple[Mean, float]]) -> dict[str, float]:
    """Summarise a measure over all scenarios, each with the value that its differences are relative to."""
    return {
        "near": fmean(mean.near for mean, _ in means),
        "equal": fmean(mean.equal for mean, _ in means),
        "median": median(abs(mean.difference) / scale for mean, scale in means),
        "error": median(mean.error / scale for mean, scale in means),
    }
