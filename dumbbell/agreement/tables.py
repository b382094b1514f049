"""Tables and Markdown made from a statement of agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dumbbell.agreement import chance, pairs, stability, state, windows
from dumbbell.agreement.measures import DEFINITIONS, METRICS
from dumbbell.agreement.real_time import BUCKET_MS
from dumbbell.agreement.statement import (
    AGREE,
    AT_LEAST,
    CHANCE,
    FACTS,
    INSIDE,
    MEDIAN,
    P95,
    PAIRS,
    STABILITY,
    STATE,
    STEADY,
    WINDOWS,
    WITHIN,
)
from dumbbell.comparing.tables import Table

if TYPE_CHECKING:
    from dumbbell.comparing.difference import Difference

_STATISTICS = {
    MEDIAN: "median difference",
    P95: "p95 difference",
    INSIDE: "inside the reference's range over starts",
    WITHIN: "samples within 2 %, median over the scenarios",
    AGREE: "shares alike",
    STEADY: "scenarios in which both agree",
}
_TITLES = {
    WINDOWS: f"window in the first {windows.FIRST_S:g} s",
    PAIRS: "mixed pairs",
    STABILITY: "link utilisation and CoV-PTA",
    STATE: "state variables",
}


def below_bar(document: Mapping[str, Any]) -> list[str]:
    """The targets that are not met, one line each."""
    lines = []
    for bar in (each for each in document["bars"] if not each["met"]):
        expected = _chance(document).get(bar["metric"], {}).get(bar["statistic"])
        beside = "" if expected is None else f" ({_percent(expected['expected'])} by chance alone)"
        lines.append(f"{_bar_title(bar)}: {_percent(bar['reached'])}, the target is {_percent(bar['bar'])}{beside}")
    return lines


def agree(document: Mapping[str, Any]) -> str:
    """The statement in the form used in documents, Markdown."""
    return "\n".join([f"{provenance(document)}\n", *(table.markdown() for table in statement_tables(document))])


def real_time(document: Mapping[str, Any]) -> str:
    """Return a sentence or two on the differences of an engine in real time."""
    names = " and ".join(document["in_real_time"])
    return (
        f"Runs of {names} are in real time: no two are the same. Each start is run once; "
        "the same comparison in another folder gives other numbers. "
        f"Buckets of both engines last {BUCKET_MS} ms at least, and windows are not compared sample by sample."
    )


def statement_tables(document: Mapping[str, Any]) -> list[Table]:
    """The differences of all metrics, and what else the set has: shares over starts, windows, mixed pairs, stability."""
    found = [statement_table(document)]
    if document["shares"]["scenarios"]:
        found.append(shares_table(document))
    if document[WINDOWS]["scenarios"]:
        found.append(windows_table(document))
    if document[PAIRS]["pairs"]:
        found.append(pairs_table(document))
    if (steady := _steady(document))["scenarios"]:
        found += [stability_table(document), stability_scenarios(steady)]
    if _told(document)["scenarios"]:
        found.append(state_table(document))
    return found


def headline(document: Mapping[str, Any]) -> str:
    """One sentence with the median and the 95th percentile of the differences of goodput and mean srtt."""
    reference, metrics = document["engines"][document["reference"]], document["metrics"]
    goodput, srtt = ([_percent(metrics[name][statistic]) for statistic in (MEDIAN, P95)] for name in ("goodput", "rtt_mean"))
    return (
        f"In {document['scenarios']} scenarios drawn at random, the simulator's goodput differs from that of "
        f"Linux {reference['version']} by {goodput[0]} in the median and {goodput[1]} at the 95th percentile, "
        f"its mean smoothed RTT by {srtt[0]} and {srtt[1]} (seeds {_seeds(document)}; {document['date']})."
    )


CONTROL_COLUMNS = (
    "control",
    "seed",
    "scenarios, runs",
    "goodput",
    "longer queues",
    "mean srtt",
    "longer queues",
    "windows within 2 %",
    "longer queues",
    "2 % or one packet",
)
"""Header of the table of single congestion controls. Differences are median and 95th percentile, windows are medians over the scenarios."""


def control_row(document: Mapping[str, Any]) -> list[str]:
    """A congestion control's row in that table, from a statement of `agree random --cc`."""
    few, found = document["shallow"], document[WINDOWS]

    def differences(values: Mapping[str, Any]) -> str:
        return f"{_percent(values[MEDIAN])}, {_percent(values[P95])}"

    metrics = [differences(values[name]) for name in ("goodput", "rtt_mean") for values in (document["metrics"], few["others"])]
    traces = [_percent(found.get("within")), _percent(found.get("others", {}).get("within")), _percent(found.get("within_or_one"))]
    size = f"{document['scenarios']}, {document['runs']}"
    return [str(document["set"]).partition("-")[2], _seeds(document), size, *metrics, *traces]


def _seeds(document: Mapping[str, Any]) -> str:
    return ", ".join(map(str, document["seeds"]))


def statement_table(document: Mapping[str, Any]) -> Table:
    """One row per metric: differences from the reference, and the targets. Metrics with targets have two more, if the set has some with
    queues of few packets: those, and all others; and one of what chance alone makes of them, if it has scenarios with several starts."""
    bars = {(bar["metric"], bar["statistic"]): bar for bar in document["bars"]}
    few = document["shallow"]
    rows = []
    for name, values in document["metrics"].items():
        label = f"{values['title']} ({values['unit']})" if values["unit"] else values["title"]
        rows.append(_row(label, values, [bars.get((name, statistic)) for statistic in (MEDIAN, P95)]))
        if any(metric == name for metric, _ in bars) and few["few"][name]["cells"]:
            for part, words in _parts(document):
                rows.append(_row(f"of these, {words}", few[part][name]))
        if name in _chance(document):
            rows.append(_chance_row(_chance(document)[name]))
    return Table("", ["metric", "compared", "median difference", "p95 difference", "median absolute", "p95 absolute"], rows)


def _parts(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The two kinds of scenarios that stand apart, by the queues that they have."""
    return [("few", f"queues of at most {document['shallow']['packets']} packets"), ("others", "longer queues")]


def _row(label: str, values: Mapping[str, Any], bars: Sequence[Mapping[str, Any] | None] = (None, None)) -> list[str]:
    relative = [_beside_bar(values[statistic], bar) for statistic, bar in zip((MEDIAN, P95), bars, strict=True)]
    return [label, str(values["cells"]), *relative, _absolute(values["median_abs"]), _absolute(values["p95_abs"])]


def _chance_row(values: Mapping[str, Any]) -> list[str]:
    both = [f"{_percent(values[name]['expected'])} (as large in {100 * values[name]['as_large']:.0f} %)" for name in (MEDIAN, P95)]
    return ["by chance alone", str(values["cells"]), *both, "", ""]


def shares_table(document: Mapping[str, Any]) -> Table:
    """Comparison of the flows' shares over jittered starts."""
    shares = document["shares"]
    bar = _bar(document, INSIDE)
    rows = [
        ["flows of a scenario inside the range, mean over the scenarios", _beside_bar(shares["inside"], bar)],
        ["scenarios with all flows inside", _percent(shares["all_inside"])],
        ["flows inside, or within 0.01 of it", _percent(shares["near"])],
    ]
    what = f"{document['engine']}'s median share over {document['starts']} starts in {document['reference']}'s range over the same"
    return Table("", [f"{what} ({shares['scenarios']} scenarios, {shares['flows']} flows)", "reached"], rows)


def windows_table(document: Mapping[str, Any]) -> Table:
    """The windows of single bulk flows, sample by sample."""
    found = document[WINDOWS]
    rows = []
    for column, label in (("within", "samples within 2 %"), ("within_or_one", "samples within 2 % or one packet")):
        least = min(found["each"], key=lambda each: float(each[column]))
        bar = _bar(document, WITHIN) if column == WITHIN else None
        rows.append([label, _beside_bar(found[column], bar), f"{_percent(least[column])} ({least['scenario']})"])
        if found["few"]["scenarios"]:
            for part, words in _parts(document):
                rows.append([f"of these, {words} ({found[part]['scenarios']})", _percent(found[part].get(column)), ""])
    first = min((each for each in found["each"] if each["first_s"] is not None), key=lambda each: each["first_s"], default=None)
    earliest = "-" if first is None else f"{_seconds(first['first_s'])} ({first['scenario']})"
    rows.append([f"first sample that differs (none in {found['same']})", _seconds(found["first_s"]), earliest])
    what = f"window of a single bulk flow compared with {document['reference']}'s, first {windows.FIRST_S:g} s"
    return Table("", [f"{what} ({found['scenarios']} scenarios without random numbers)", "median over the scenarios", "worst"], rows)


def pairs_table(document: Mapping[str, Any]) -> Table:
    """How pairs of different congestion controls share."""
    found = document[PAIRS]
    rows = [
        [f"at most {pairs.NEAR:g}, or 0 in its 95 % interval", _beside_bar(found["agree"], _bar(document, AGREE))],
        [f"at most {pairs.NEAR:g}", _percent(found["near"])],
        ["median", f"{found['median']:.4f}"],
        ["95th percentile", f"{found['p95']:.4f}"],
        ["half of the interval, median", f"{found['interval']:.4f}"],
    ]
    what = f"difference of the first flow's mean share over {document['starts']} starts ({found['pairs']} mixed pairs)"
    return Table("", [what, "reached"], rows)


def steadiness(document: Mapping[str, Any]) -> str:
    """Return the Markdown of the comparison, and of how steadily high-speed flows run."""
    tables = (stability_table(document), stability_scenarios(_steady(document)))
    return "\n".join([f"{provenance(document)}\n", *(table.markdown() for table in tables)])


def stability_table(document: Mapping[str, Any]) -> Table:
    """How steadily high-speed flows run, over all scenarios."""
    found = _steady(document)
    utilisation, variation = found["utilisation"], found["variation"]
    rows = [
        ["both agree", _beside_bar(found[STEADY], _bar(document, STEADY)), ""],
        [f"link utilisation within {stability.UTILISATION:g}", _percent(utilisation["near"]), _percent(utilisation["equal"])],
        [f"CoV-PTA within {100 * stability.VARIATION:g} %", _percent(variation["near"]), _percent(variation["equal"])],
        ["difference of link utilisation, median", f"{utilisation['median']:.4f}", ""],
        ["its standard error, median", f"{utilisation['error']:.4f}", ""],
        ["difference of CoV-PTA, median", _percent(variation["median"]), ""],
        ["its standard error, median", _percent(variation["error"]), ""],
    ]
    what = f"high-speed flows with background traffic, means over {document['starts']} starts ({found['scenarios']} scenarios)"
    return Table("", [what, "reached", "of equal engines"], rows)


def stability_scenarios(steady: Mapping[str, Any]) -> Table:
    """One row per scenario: both measures, their differences with standard errors, and what agrees."""
    columns = ["scenario", "link utilisation", "dumbbell", "difference", "CoV-PTA", "dumbbell", "difference", "agrees"]
    rows = []
    for each in steady["each"]:
        used, varied = each["utilisation"], each["variation"]
        percent = [100 * value / varied["reference"] for value in (varied["ours"] - varied["reference"], varied["error"])]
        rows.append(
            [
                each["scenario"],
                f"{used['reference']:.4f}",
                f"{used['ours']:.4f}",
                f"{used['ours'] - used['reference']:+.4f} ± {used['error']:.4f}",
                f"{varied['reference']:.4f}",
                f"{varied['ours']:.4f}",
                f"{percent[0]:+.1f} % ± {percent[1]:.1f} %",
                "both" if each["agrees"] else " ".join(name for name in ("utilisation", "variation") if each[name]["near"]) or "neither",
            ]
        )
    return Table("", columns, rows)


def windows_list(document: Mapping[str, Any]) -> Table:
    """One row per scenario whose window is compared, for windows.csv."""
    columns = ["scenario", "starts", "samples", "within", "within_or_one", "first_s"]
    rows = [["" if each[column] is None else _plain(each[column]) for column in columns] for each in document[WINDOWS]["each"]]
    return Table("", columns, rows)


def pairs_list(document: Mapping[str, Any]) -> Table:
    """One row per mixed pair, for pairs.csv: mean shares of the first flow, and the 95 % interval of their difference."""
    columns = ["scenario", "first", "second", "starts", document["reference"], document["engine"], "difference", "low", "high", "agrees"]
    values = ("starts", "reference", "ours", "difference", "low", "high")
    rows = [
        [each["scenario"], *each["controls"], *(_plain(each[name]) for name in values), str(each["agrees"]).lower()]
        for each in document[PAIRS]["each"]
    ]
    return Table("", columns, rows)


def stability_list(document: Mapping[str, Any]) -> Table:
    """One row per scenario and measure of stability, for stability.csv: means over the starts, standard error of their difference, standard
    deviation of the reference's runs, and how likely engines that are equal would agree."""
    columns = ["scenario", "control", "starts", "measure", document["reference"], document["engine"], "error", "scatter", "near", "equal"]
    rows = []
    for each in _steady(document)["each"]:
        for measure in ("utilisation", "variation"):
            found = each[measure]
            values = [_plain(found[name]) for name in ("reference", "ours", "error", "scatter")]
            near = str(found["near"]).lower()
            rows.append([each["scenario"], each["control"], _plain(each["starts"]), measure, *values, near, _plain(found["equal"])])
    return Table("", columns, rows)


def _told(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """State in a statement, which older ones lack."""
    found: Mapping[str, Any] = document.get(STATE, {"scenarios": 0, "variables": [], "each": []})
    return found


def state_table(document: Mapping[str, Any]) -> Table:
    """A row for each state variable of each congestion control and queue discipline."""
    told = _told(document)
    rows = [
        [
            each["of"],
            each["variable"],
            str(each["scenarios"]),
            *(
                "-" if each[name] is None else _percent(each[name])
                for name in ("within_median", "within_least", "mean_median", "mean_most")
            ),
            each["likely"] or "-",
        ]
        for each in told["variables"]
    ]
    title = f"State in {told['scenarios']} scenarios: {'; '.join(f'{name}: {text}' for name, text in state.DEFINITIONS.items())}"
    columns = ["of", "variable", "scenarios", "within 2 %, median", "least", "means apart, median", "most", "by chance"]
    return Table(title, columns, rows)


def _written(value: float | str | bool | None) -> str:
    """A value in a list."""
    if value is None or isinstance(value, str):
        return value or ""
    return str(value).lower() if isinstance(value, bool) else _plain(value)


def state_list(document: Mapping[str, Any]) -> Table:
    """One row per scenario and state variable, for state.csv."""
    columns = ["scenario", "owner", "variable", "starts", "samples", "within", "reference", "ours", "apart", "likely"]
    rows = [[_written(each[name]) for name in columns] for each in _told(document)["each"]]
    return Table("", columns, rows)


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
    """The definitions of the metrics, and of what else the set has."""
    rows = [
        [METRICS[name].title, DEFINITIONS[name], f"{METRICS[name].floor:g} {METRICS[name].unit}".strip() if METRICS[name].floor else ""]
        for name in document["metrics"]
    ]
    if _chance(document):
        rows.append(["by chance alone", chance.DEFINITION, ""])
    if document[WINDOWS]["scenarios"]:
        titles = {"within": "window within 2 %", "within_or_one": "window within 2 % or one packet", "first_s": "first window that differs"}
        rows += [[title, windows.DEFINITIONS[column], ""] for column, title in titles.items()]
    if document[PAIRS]["pairs"]:
        rows.append(["mixed pairs", pairs.DEFINITION, ""])
    if _steady(document)["scenarios"]:
        rows += [[title, definition, ""] for title, definition in stability.DEFINITIONS.items()]
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
    named = "seeds" if len(document["seeds"]) > 1 else "seed"
    drawn = f", {named} {_seeds(document)}" if document["seeds"] else ""
    repeated = "each" if document["runs"] == document["scenarios"] * document["starts"] else "those of several flows"
    starts = "" if document["runs"] == document["scenarios"] else f", {repeated} with {document['starts']} jittered starts"
    if "until" in document:
        until = document["until"]
        starts = (
            f"; those of several flows have {document['starts']} to {until['most_starts']} jittered starts, until the standard errors of "
            f"the reference's mean goodput and mean srtt are at most {100 * until['share']:g} %, and {until['starts_of_ours']} times as "
            f"many on the other engine ({until['runs_of_ours']} runs)"
        )
    where = "the reference" if "until" in document else "each engine"
    return (
        f"Set {document['set']}{drawn}: {document['scenarios']} scenarios, {document['runs']} runs on {where}{starts}. "
        f"Reference: {theirs}, runs of {document['date']}. Compared with it: {ours}."
    )


def _engine_words(name: str, facts: Mapping[str, Any]) -> str:
    version = f" Linux {facts['version']}" if "version" in facts else ""
    short = ", ".join(f"{fact} {str(facts[fact])[:12]}" for fact in FACTS if fact in facts and fact != "version")
    return f"{name}{version}" + (f" ({short})" if short else "")


def _steady(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The stability of high-speed flows; statements of before they were compared have none."""
    found: Mapping[str, Any] = document.get(STABILITY, {"scenarios": 0, "each": []})
    return found


def _chance(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of chance in the metrics. Older statements have nothing."""
    found: Mapping[str, Any] = document.get(CHANCE, {})
    return found


def _bar_title(bar: Mapping[str, Any]) -> str:
    title = _TITLES[bar["metric"]] if bar["metric"] in _TITLES else METRICS[bar["metric"]].title
    return f"{title}, {_STATISTICS[bar['statistic']]}"


def _bar(document: Mapping[str, Any], statistic: str) -> Mapping[str, Any] | None:
    return next((bar for bar in document["bars"] if bar["statistic"] == statistic), None)


def _sign(bar: Mapping[str, Any]) -> str:
    return "≥" if bar["statistic"] in AT_LEAST else "≤"


def _beside_bar(value: float | None, bar: Mapping[str, Any] | None) -> str:
    if bar is None:
        return _percent(value)
    return f"{_percent(value)} ({_sign(bar)} {100 * bar['bar']:g} %{'' if bar['met'] else ', missed'})"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f} %"


def _seconds(value: float | None) -> str:
    return "none" if value is None else f"{value:g} s"


def _plain(value: float | str) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _absolute(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
