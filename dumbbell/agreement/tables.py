"""Tables and Markdown made from a statement of agreement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dumbbell.agreement.measures import DEFINITIONS, METRICS
from dumbbell.agreement.statement import FACTS, INSIDE, MEDIAN, P95
from dumbbell.comparing.tables import Table

if TYPE_CHECKING:
    from dumbbell.comparing.difference import Difference

_SIGNS = {MEDIAN: "≤", P95: "≤", INSIDE: "≥"}


def below_bar(document: Mapping[str, Any]) -> list[str]:
    """The bars that are not met, one line each."""
    return [
        f"{_bar_title(bar)}: {_percent(bar['reached'])}, the bar is {_percent(bar['bar'])}" for bar in document["bars"] if not bar["met"]
    ]


def agree(document: Mapping[str, Any]) -> str:
    """The statement in the form used in documents, Markdown."""
    return f"{provenance(document)}\n\n{statement_table(document).markdown()}\n{shares_table(document).markdown()}"


def summary(document: Mapping[str, Any]) -> str:
    """What was compared, and each bar with the value reached, Markdown."""
    rows = [[_bar_title(bar), f"{_SIGNS[bar['statistic']]} {100 * bar['bar']:g} %", _percent(bar["reached"])] for bar in document["bars"]]
    return f"{provenance(document)}\n\n{Table('', ['', 'bar', 'reached'], rows).markdown()}"


def statement_table(document: Mapping[str, Any]) -> Table:
    """One row per metric: differences from the reference, and the bars."""
    bars = {(bar["metric"], bar["statistic"]): bar for bar in document["bars"]}
    rows = []
    for name, values in document["metrics"].items():
        label = f"{values['title']} ({values['unit']})" if values["unit"] else values["title"]
        relative = [_beside_bar(values[statistic], bars.get((name, statistic))) for statistic in (MEDIAN, P95)]
        rows.append([label, str(values["cells"]), *relative, _absolute(values["median_abs"]), _absolute(values["p95_abs"])])
    return Table("", ["metric", "compared", "median difference", "p95 difference", "median absolute", "p95 absolute"], rows)


def shares_table(document: Mapping[str, Any]) -> Table:
    """Comparison of the flows' shares over jittered starts."""
    shares = document["shares"]
    bar = next((bar for bar in document["bars"] if bar["statistic"] == INSIDE), None)
    rows = [
        ["flows of a scenario inside the range, mean over the scenarios", _beside_bar(shares["inside"], bar)],
        ["scenarios with all flows inside", _percent(shares["all_inside"])],
        ["flows inside, or within 0.01 of it", _percent(shares["near"])],
    ]
    what = f"{document['engine']}'s median share over {document['starts']} starts in {document['reference']}'s range over the same"
    return Table("", [f"{what} ({shares['scenarios']} scenarios, {shares['flows']} flows)", "reached"], rows)


def worst_table(document: Mapping[str, Any], ranges: bool = True) -> Table:
    """The cells with the largest differences; `ranges`: with their ranges over starts."""

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
    """The definitions of the metrics."""
    rows = [
        [METRICS[name].title, DEFINITIONS[name], f"{METRICS[name].floor:g} {METRICS[name].unit}".strip() if METRICS[name].floor else ""]
        for name in document["metrics"]
    ]
    return Table("", ["metric", "definition", "relative to no less than"], rows)


def differences_table(found: Difference, engines: tuple[str, str]) -> Table:
    """One row per scenario, entity and metric, for differences.csv."""
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
    """One sentence: which engines were compared on which set, and when."""
    theirs, ours = (_engine_words(name, document["engines"][name]) for name in (document["reference"], document["engine"]))
    drawn = "" if document["seed"] is None else f", seed {document['seed']}"
    return (
        f"Set {document['set']}{drawn}: {document['scenarios']} scenarios, {document['runs']} runs on each engine, "
        f"those of several flows with {document['starts']} jittered starts. "
        f"Reference: {theirs}, runs of {document['date']}; beside it: {ours}."
    )


def _engine_words(name: str, facts: Mapping[str, Any]) -> str:
    version = f" Linux {facts['version']}" if "version" in facts else ""
    short = ", ".join(f"{fact} {str(facts[fact])[:12]}" for fact in FACTS if fact in facts and fact != "version")
    return f"{name}{version}" + (f" ({short})" if short else "")


def _bar_title(bar: Mapping[str, Any]) -> str:
    words = {MEDIAN: "median difference", P95: "p95 difference", INSIDE: "inside the reference's range over starts"}
    return f"{METRICS[bar['metric']].title}, {words[bar['statistic']]}"


def _beside_bar(value: float | None, bar: Mapping[str, Any] | None) -> str:
    if bar is None:
        return _percent(value)
    return f"{_percent(value)} ({_SIGNS[bar['statistic']]} {100 * bar['bar']:g} %{'' if bar['met'] else ', missed'})"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f} %"


def _absolute(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
