"""What is said of a comparison: one plain document, from which every table is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.agreement.measures import DEFINITIONS, METRICS
from dumbbell.report.difference import Cell, Difference
from dumbbell.report.tables import Table

if TYPE_CHECKING:
    from dumbbell.agreement.comparison import Comparison
    from dumbbell.results import Run

_SHARE = "share"
_MEDIAN, _P95, _INSIDE = "median_rel", "p95_rel", "inside"
_SIGNS = {_MEDIAN: "≤", _P95: "≤", _INSIDE: "≥"}
_FACTS = ("version", "kernel", "configuration", "agent", "sources")
"""What runs say of their engine that names it."""
_RANGE_STARTS = 10
"""A range over fewer starts says too little to be held to."""
WORST = 10


@dataclass(frozen=True)
class Bar:
    """What an agreement must reach."""

    metric: str
    statistic: str
    """`median_rel` and `p95_rel` are at most, `inside` is at least."""
    bar: float

    def met(self, reached: float) -> bool:
        """Whether what is reached is good enough."""
        return reached >= self.bar if self.statistic == _INSIDE else reached <= self.bar


BARS = (
    Bar("goodput", _MEDIAN, 0.01),
    Bar("goodput", _P95, 0.05),
    Bar("rtt_mean", _MEDIAN, 0.03),
    Bar("rtt_mean", _P95, 0.10),
    Bar(_SHARE, _INSIDE, 0.90),
)


def statement(compared: Comparison, found: Difference) -> dict[str, Any]:
    """The statement of agreement over a set, plain data for agree.json; the same runs give the same document."""
    asked, engines = compared.asked, compared.engines
    metrics = {metric: {**_of_metric(metric), **each.as_json()} for metric, each in found.metrics.items()}
    shares = _shares(found)
    reached = {(metric, statistic): metrics[metric][statistic] for metric in metrics for statistic in (_MEDIAN, _P95)}
    reached[_SHARE, _INSIDE] = shares["inside"] if asked.starts >= _RANGE_STARTS else None
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


def below_bar(document: Mapping[str, Any]) -> list[str]:
    """What falls short of the bars, a line each."""
    return [
        f"{_bar_title(bar)}: {_percent(bar['reached'])}, the bar is {_percent(bar['bar'])}" for bar in document["bars"] if not bar["met"]
    ]


def worst(found: Difference) -> list[Cell]:
    """The cells furthest from the reference, counted in tolerances; those inside the reference's own range over starts are not meant."""
    cells = [cell for cell in found.cells if not cell.inside and cell.error != 0]
    return sorted(cells, key=lambda cell: cell.badness, reverse=True)[:WORST]


def agree(document: Mapping[str, Any]) -> str:
    """The statement as documents have it, Markdown."""
    return f"{provenance(document)}\n\n{statement_table(document).markdown()}\n{shares_table(document).markdown()}"


def summary(document: Mapping[str, Any]) -> str:
    """What was compared, and each bar beside what is reached, Markdown."""
    rows = [[_bar_title(bar), f"{_SIGNS[bar['statistic']]} {100 * bar['bar']:g} %", _percent(bar["reached"])] for bar in document["bars"]]
    return f"{provenance(document)}\n\n{Table('', ['', 'bar', 'reached'], rows).markdown()}"


def statement_table(document: Mapping[str, Any]) -> Table:
    """One row a metric: how far the engine is from the reference, and the bars."""
    bars = {(bar["metric"], bar["statistic"]): bar for bar in document["bars"]}
    rows = []
    for name, values in document["metrics"].items():
        label = f"{values['title']} ({values['unit']})" if values["unit"] else values["title"]
        relative = [_beside_bar(values[statistic], bars.get((name, statistic))) for statistic in (_MEDIAN, _P95)]
        rows.append([label, str(values["cells"]), *relative, _absolute(values["median_abs"]), _absolute(values["p95_abs"])])
    return Table("", ["metric", "compared", "median difference", "p95 difference", "median absolute", "p95 absolute"], rows)


def shares_table(document: Mapping[str, Any]) -> Table:
    """How the shares of flows compare over jittered starts."""
    shares = document["shares"]
    bar = next((bar for bar in document["bars"] if bar["statistic"] == _INSIDE), None)
    rows = [
        ["flows of a scenario inside the range, mean over the scenarios", _beside_bar(shares["inside"], bar)],
        ["scenarios with all flows inside", _percent(shares["all_inside"])],
        ["flows inside, or within 0.01 of it", _percent(shares["near"])],
    ]
    what = f"{document['engine']}'s median share over {document['starts']} starts in {document['reference']}'s range over the same"
    return Table("", [f"{what} ({shares['scenarios']} scenarios, {shares['flows']} flows)", "reached"], rows)


def worst_table(document: Mapping[str, Any], ranges: bool = True) -> Table:
    """The cells furthest apart, with the ranges over their starts where there is room for them."""

    def number(cell: Mapping[str, Any], value: str, low: str, high: str) -> str:
        repeated = ranges and cell["repeats"] > 1
        return f"{cell[value]:.4g}" + (f" ({cell[low]:.3g} to {cell[high]:.3g})" if repeated else "")

    rows = [
        [
            cell["scenario"],
            cell["entity"],
            METRICS[cell["metric"]].title,
            number(cell, "reference", "reference_low", "reference_high"),
            number(cell, "ours", "low", "high"),
            f"{cell['error']:+.3g}",
        ]
        for cell in document["worst"]
    ]
    return Table("", ["scenario", "of", "metric", document["reference"], document["engine"], "difference"], rows)


def definitions_table(document: Mapping[str, Any]) -> Table:
    """What each metric is."""
    rows = [
        [METRICS[name].title, DEFINITIONS[name], f"{METRICS[name].floor:g} {METRICS[name].unit}".strip() if METRICS[name].floor else ""]
        for name in document["metrics"]
    ]
    return Table("", ["metric", "definition", "relative to no less than"], rows)


def differences_table(found: Difference, engines: tuple[str, str]) -> Table:
    """One row a scenario, entity and metric, for differences.csv."""
    theirs, ours = engines
    head = [
        "scenario",
        "entity",
        "metric",
        "unit",
        "starts",
        theirs,
        f"{theirs}_low",
        f"{theirs}_high",
        ours,
        f"{ours}_low",
        f"{ours}_high",
    ]
    rows = []
    for cell in found.cells:
        low, high = cell.spread or (cell.theirs, cell.theirs)
        values = (cell.theirs, low, high, cell.ours, cell.low, cell.high, cell.error, cell.relative)
        key = [str(value) for value in cell.key.values()]
        inside = "" if cell.inside is None else str(cell.inside).lower()
        rows.append([*key, cell.metric, METRICS[cell.metric].unit, str(cell.repeats), *(f"{value:.6g}" for value in values), inside])
    return Table("", [*head, "difference", "relative", "inside"], rows)


def provenance(document: Mapping[str, Any]) -> str:
    """One sentence: what was compared with what, and when."""
    theirs, ours = (_engine_words(name, document["engines"][name]) for name in (document["reference"], document["engine"]))
    drawn = "" if document["seed"] is None else f", seed {document['seed']}"
    return (
        f"Set {document['set']}{drawn}: {document['scenarios']} scenarios, {document['runs']} runs on each engine, "
        f"those of several flows with {document['starts']} jittered starts. "
        f"Reference: {theirs}, runs of {document['date']}; beside it: {ours}."
    )


def _engine_words(name: str, facts: Mapping[str, Any]) -> str:
    version = f" Linux {facts['version']}" if "version" in facts else ""
    short = ", ".join(f"{fact} {str(facts[fact])[:12]}" for fact in _FACTS if fact in facts and fact != "version")
    return f"{name}{version}" + (f" ({short})" if short else "")


def _of_metric(name: str) -> dict[str, Any]:
    metric = METRICS[name]
    return {"title": metric.title, "unit": metric.unit, "definition": DEFINITIONS[name], "floor": metric.floor}


def _facts(run: Run) -> dict[str, Any]:
    """What a run, and with it all of the same engine, says of it."""
    return {fact: run.engine[fact] for fact in _FACTS if fact in run.engine}


def _shares(found: Difference) -> dict[str, Any]:
    """Per-flow shares as distributions over starts.

    `inside` gives every scenario the same weight, whatever the number of its flows: two samples of ten starts of one and the same
    chaotic flow miss each other so about once in fifty, and a scenario of eight flows would seldom have all of them inside.
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


def _bar_title(bar: Mapping[str, Any]) -> str:
    words = {_MEDIAN: "median difference", _P95: "p95 difference", _INSIDE: "inside the reference's range over starts"}
    return f"{METRICS[bar['metric']].title}, {words[bar['statistic']]}"


def _beside_bar(value: float | None, bar: Mapping[str, Any] | None) -> str:
    if bar is None:
        return _percent(value)
    return f"{_percent(value)} ({_SIGNS[bar['statistic']]} {100 * bar['bar']:g} %{'' if bar['met'] else ', missed'})"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f} %"


def _absolute(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
