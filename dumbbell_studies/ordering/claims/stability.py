"""Claims about the background traffic, correlations and the spread of the load."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dumbbell import metrics
from dumbbell.study.claims import Findings, MissingRunError, Outcome
from dumbbell_studies.ordering.conditions import ALONE, BASE
from dumbbell_studies.ordering.controls import PROTOCOLS
from dumbbell_studies.ordering.correlation import ENVIRONMENTS, LEAST_RUNS, OUTCOMES, correlations
from dumbbell_studies.ordering.scenarios import NOBODY
from dumbbell_studies.ordering.trials import CAPACITY_BPS, Trials

_TYPES = {condition.background: condition for condition in ALONE if not condition.congested}


def variability_of_types(found: Trials) -> Outcome:
    """N003+N004: what each type leaves varies as it should, with the two long-lived reverse flows' ACKs next to it."""
    findings = Findings()
    for name, (low, high) in (("type1", (0.04, 0.06)), ("type2", (0.12, 0.18))):
        cov = found.mean(NOBODY, _TYPES[name], lambda t: metrics.available_variation(t.bits, CAPACITY_BPS))
        findings.add(f"{name} CoV {cov:.3f}", low <= cov <= high)
    return findings.outcome()


def load_of_types(found: Trials) -> Outcome:
    """N005+N008: about 70 Mbit/s of either type, in the direction that no long-lived flow takes."""
    findings = Findings()
    loads = {name: found.mean(NOBODY, condition, lambda t: float(np.mean(t.bits)) / 1e6) for name, condition in _TYPES.items()}
    for name, load in loads.items():
        findings.add(f"{name} {load:.1f} Mbit/s", 60 <= load <= 80)
    apart = abs(loads["type1"] - loads["type2"]) / max(loads.values())
    findings.add(f"{100 * apart:.1f} % apart", apart <= 0.1)
    return findings.outcome()


def congested_by_sack(found: Trials) -> Outcome:
    """N006+N009+N010: long-lived SACK flows alone."""
    (condition,) = (each for each in ALONE if each.congested)
    used = found.mean(NOBODY, condition)
    return Outcome(0.70 <= used <= 0.90, f"utilisation {used:.3f}")


def aggregate_predicts_better(found: Trials) -> Outcome:
    """N011+N012: in each environment and for each measure of stability."""
    made = {(c.environment, c.outcome, c.predictor): c for c in correlations(found) if c.runs >= LEAST_RUNS}
    if {environment for environment, _, _ in made} != set(ENVIRONMENTS):
        raise MissingRunError(f"{LEAST_RUNS} runs of each environment are needed")
    findings = Findings()
    for environment in ENVIRONMENTS:
        for outcome in OUTCOMES:
            aggregate, flow = (made[environment, outcome, predictor].r for predictor in ("CoV-PTA", "CoV-PTP"))
            findings.add(f"{environment}, {outcome}: {aggregate:+.2f} and {flow:+.2f}", abs(aggregate) > abs(flow))
    return findings.outcome()


def widest_and_narrowest(found: Trials) -> Outcome:
    """N013: the spread of the bits of a second, by the median over seeds."""
    width = {name: float(np.median([t.load_width for t in found.of(name, BASE)])) / 1e6 for name in PROTOCOLS}
    widest, narrowest = max(width, key=lambda name: width[name]), min(width, key=lambda name: width[name])
    findings = Findings()
    findings.add(f"widest {widest} ({width[widest]:.0f} Mbit/s; HTCP {width['HTCP']:.0f})", widest == "HTCP")
    findings.add(f"narrowest {narrowest} ({width[narrowest]:.0f}; BIC {width['BIC']:.0f})", narrowest == "BIC")
    return findings.outcome()


CHECKS: Mapping[str, Callable[[Trials], Outcome]] = {
    "N003+N004": variability_of_types,
    "N005+N008": load_of_types,
    "N006+N009+N010": congested_by_sack,
    "N011+N012": aggregate_predicts_better,
    "N013": widest_and_narrowest,
}
