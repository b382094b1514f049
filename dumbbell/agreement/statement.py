"""What is said of a comparison: one plain document, from which every table is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.agreement.measures import DEFINITIONS, METRICS
from dumbbell.comparing.difference import WORST, Cell, Difference

if TYPE_CHECKING:
    from dumbbell.agreement.comparison import Comparison
    from dumbbell.results import Run

_SHARE = "share"
MEDIAN, P95, INSIDE = "median_rel", "p95_rel", "inside"
"""Statistics of a metric: of its relative differences, or how many values lie inside the reference's range."""
FACTS = ("version", "kernel", "configuration", "agent", "sources")
"""What a run knows of its engine that identifies it."""
_RANGE_STARTS = 10
"""With fewer starts the reference's range is too uncertain for a bar."""


@dataclass(frozen=True)
class Bar:
    """What an agreement must reach."""

    metric: str
    statistic: str
    """`median_rel` and `p95_rel` must be at most `bar`, `inside` at least."""
    bar: float

    def met(self, reached: float) -> bool:
        """Whether what is reached is good enough."""
        return reached >= self.bar if self.statistic == INSIDE else reached <= self.bar


BARS = (
    Bar("goodput", MEDIAN, 0.01),
    Bar("goodput", P95, 0.05),
    Bar("rtt_mean", MEDIAN, 0.03),
    Bar("rtt_mean", P95, 0.10),
    Bar("queue_delay", P95, 0.15),
    Bar(_SHARE, INSIDE, 0.90),
)


def statement(compared: Comparison, found: Difference) -> dict[str, Any]:
    """The statement of agreement over a set, plain data for agree.json; the same runs give the same document."""
    asked, engines = compared.asked, compared.engines
    metrics = {metric: {**_of_metric(metric), **each.as_json()} for metric, each in found.metrics.items()}
    shares = _shares(found)
    reached = {(metric, statistic): metrics[metric][statistic] for metric in metrics for statistic in (MEDIAN, P95)}
    reached[_SHARE, INSIDE] = shares["inside"] if asked.starts >= _RANGE_STARTS else None
    bars = [
        {"metric": bar.metric, "statistic": bar.statistic, "bar": bar.bar, "reached": value, "met": bar.met(value)}
        for bar in BARS
        if (value := reached.get((bar.metric, bar.statistic))) is not None
    ]
    return {
        "set": asked.name,
        "seed": asked.seed,
        "scenarios": len(asked.scenarios),
        "runs": len(compared.reference),
        "starts": asked.starts,
        "reference": engines[0],
        "engine": engines[1],
        "engines": {engine: _facts(runs[0]) for engine, runs in zip(engines, (compared.reference, compared.ours), strict=True)},
        "date": compared.date,
        "metrics": metrics,
        "shares": shares,
        "bars": bars,
        "invalid": [{"scenario": run.name, "engine": run.engine["name"], "reasons": list(run.reasons)} for run in compared.invalid],
        "worst": [cell.as_json() for cell in worst(found)],
    }


def worst(found: Difference) -> list[Cell]:
    """The cells furthest from the reference, in units of the tolerance, without those inside the reference's own range over starts."""
    cells = [cell for cell in found.cells if not cell.inside and cell.error != 0]
    return sorted(cells, key=lambda cell: cell.badness, reverse=True)[:WORST]


def _of_metric(name: str) -> dict[str, Any]:
    metric = METRICS[name]
    return {"title": metric.title, "unit": metric.unit, "definition": DEFINITIONS[name], "floor": metric.floor}


def _facts(run: Run) -> dict[str, Any]:
    """What identifies the engine of a run; the same for all its runs."""
    return {fact: run.engine[fact] for fact in FACTS if fact in run.engine}


def _shares(found: Difference) -> dict[str, Any]:
    """Per-flow shares as distributions over starts.

    `inside` gives every scenario the same weight, whatever the number of its flows. It cannot be 1: of two samples of ten starts of the
    same chaotic flow, the median of one lies outside the range of the other about once in fifty times, so that a scenario of eight flows
    often has one that does.
    """
    scenarios: dict[Any, list[Cell]] = {}
    for cell in found.metrics[_SHARE].cells if _SHARE in found.metrics else ():
        if cell.spread is not None:
            scenarios.setdefault(cell.key["scenario"], []).append(cell)
    flows = [cell for cells in scenarios.values() for cell in cells]
    return {
        "scenarios": len(scenarios),
        "flows": len(flows),
        "inside": _mean([_mean([bool(cell.inside) for cell in cells]) for cells in scenarios.values()]),
        "all_inside": _mean([all(cell.inside for cell in cells) for cells in scenarios.values()]),
        "near": _mean([_near(cell) for cell in flows]),
    }


def _near(cell: Cell) -> bool:
    assert cell.spread is not None  # only flows with several starts are asked
    return cell.spread[0] - 0.01 <= cell.ours <= cell.spread[1] + 0.01


def _mean(values: Sequence[float | bool | None]) -> float | None:
    return float(np.mean(np.asarray(values, dtype=float))) if values else None
