"""The statement of agreement: the result of a comparison as plain data, from which all tables are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.agreement import chance, pairs, stability, state, windows
from dumbbell.agreement.measures import DEFINITIONS, METRICS
from dumbbell.agreement.precision import MOST_STARTS, OURS
from dumbbell.comparing.difference import WORST, Cell, Difference, MetricDifference
from dumbbell.scenario.units import ETHERNET_BYTES

if TYPE_CHECKING:
    from dumbbell.agreement.comparison import Comparison
    from dumbbell.agreement.precision import Precision
    from dumbbell.results import Run

_SHARE = "share"
WINDOWS, PAIRS, STABILITY, STATE = "windows", "pairs", stability.SET, state.SET
"""Measures of several runs together, which are no metrics of one."""
CHANCE = "chance"
MEDIAN, P95, INSIDE, WITHIN, AGREE, STEADY = "median_rel", "p95_rel", "inside", "within", "agree", "steady"
"""Statistics of a metric: median and 95th percentile of the relative differences, share of values inside the reference's range. Of window
traces the median share of samples within 2 %, of mixed pairs the share that agrees, of high-speed flows that of scenarios as steady."""
AT_LEAST = frozenset({INSIDE, WITHIN, AGREE, STEADY})
"""The statistics that are to reach their target; the others must not exceed it."""
FACTS = ("version", "kernel", "configuration", "agent", "sources")
"""The entries of `Run.engine` that identify the engine."""
_SMOKE = "smoke"
_RANGE_STARTS = 10
"""Minimum number of starts: with fewer, the reference's range is too uncertain to be judged by a target."""
PACKETS = 4
"""Largest room of a shallow queue, packets. The phase of packets, fractions of a microsecond, decides which of them is dropped there."""
_MEAN_STARTS = 5
"""Number of starts of means of stability."""


@dataclass(frozen=True)
class Bar:
    """A required level of agreement."""

    metric: str
    statistic: str
    """The statistic. Values of `AT_LEAST` must be at least `bar`, other values at most."""
    bar: float
    small: float | None = None
    """Target of the set smoke, whose 95th percentile is that of its worst scenario of a dozen; None: the same."""

    def of_set(self, name: str) -> float:
        """Return the target of this set."""
        return self.small if name == _SMOKE and self.small is not None else self.bar

    def met(self, reached: float, name: str) -> bool:
        """True if a value of a set reaches the target."""
        return reached >= self.of_set(name) if self.statistic in AT_LEAST else reached <= self.of_set(name)


BARS = (
    Bar("goodput", MEDIAN, 0.005),
    Bar("goodput", P95, 0.04, small=0.05),
    Bar("rtt_mean", MEDIAN, 0.02),
    Bar("rtt_mean", P95, 0.08, small=0.10),
    Bar("queue_delay", P95, 0.15),
    Bar("probe_rtt", MEDIAN, 0.02),
    Bar("probe_rtt", P95, 0.08),
    Bar("transfers_median", MEDIAN, 0.03),
    Bar("transfers_p95", MEDIAN, 0.08),
    Bar(_SHARE, INSIDE, 0.90),
    Bar(WINDOWS, WITHIN, 0.90),
    Bar(STATE, WITHIN, 0.90),
    Bar(PAIRS, AGREE, 0.90),
    Bar(STABILITY, STEADY, 0.90),
)


def statement(compared: Comparison, found: Difference) -> dict[str, Any]:
    """The statement of agreement over a set, plain data for agree.json. Deterministic: equal runs give an equal document."""
    scenario_set, engines = compared.scenario_set, compared.engines
    metrics = {metric: {**_of_metric(metric), **each.as_json()} for metric, each in found.metrics.items()}
    shares = _shares(found)
    few = shallow(reference for reference, _ in compared.pairs)
    traces, mixed = windows.summary(windows.traces(compared), few), pairs.summary(pairs.mixed_pairs(compared))
    reached = {(metric, statistic): metrics[metric][statistic] for metric in metrics for statistic in (MEDIAN, P95)}
    told = state.summary(state.variables(compared))
    reached[WINDOWS, WITHIN], reached[STATE, WITHIN] = traces.get(WITHIN), told.get(WITHIN)
    steady = stability.summary(stability.stabilities(compared))
    if scenario_set.starts >= _RANGE_STARTS:
        reached[_SHARE, INSIDE], reached[PAIRS, AGREE] = shares["inside"], mixed.get(AGREE)
    if scenario_set.starts >= _MEAN_STARTS:
        reached[STABILITY, STEADY] = steady.get(STEADY)
    bars = [
        {
            "metric": bar.metric,
            "statistic": bar.statistic,
            "bar": bar.of_set(scenario_set.name),
            "reached": value,
            "met": bar.met(value, scenario_set.name),
        }
        for bar in BARS
        if (value := reached.get((bar.metric, bar.statistic))) is not None
    ]
    return {
        "set": scenario_set.name,
        "seeds": list(scenario_set.seeds),
        "scenarios": len(scenario_set.scenarios),
        "runs": len(compared.reference),
        "starts": scenario_set.starts,
        **({} if scenario_set.precision is None else {"until": _until(compared, scenario_set.precision)}),
        "reference": engines[0],
        "engine": engines[1],
        "engines": {engine: _facts(runs[0]) for engine, runs in zip(engines, (compared.reference, compared.ours), strict=True)},
        "date": compared.date,
        **({"in_real_time": names} if (names := compared.in_real_time) else {}),
        "metrics": metrics,
        CHANCE: chance.by_chance(compared, found, list(dict.fromkeys(bar.metric for bar in BARS if bar.statistic in (MEDIAN, P95)))),
        "shallow": shallow_summary(found, few),
        "shares": shares,
        WINDOWS: traces,
        PAIRS: mixed,
        STABILITY: steady,
        STATE: told,
        "bars": bars,
        "invalid": [{"scenario": run.name, "engine": run.engine["name"], "reasons": list(run.reasons)} for run in compared.invalid],
        "worst": [cell.as_json() for cell in worst(found)],
    }


def _until(compared: Comparison, precision: Precision) -> dict[str, Any]:
    """How well the reference was to be known, and how many runs that took on either engine."""
    return {
        "share": precision.share,
        "most_starts": MOST_STARTS,
        "starts_of_ours": OURS,
        "runs_of_ours": len(compared.ours) + len(compared.further),
    }


def worst(found: Difference) -> list[Cell]:
    """The cells with the largest differences in units of the tolerance, except those inside the reference's range over its starts."""
    cells = [cell for cell in found.cells if not cell.inside and cell.error != 0]
    return sorted(cells, key=lambda cell: cell.error_in_tolerances, reverse=True)[:WORST]


def _of_metric(name: str) -> dict[str, Any]:
    metric = METRICS[name]
    return {"title": metric.title, "unit": metric.unit, "definition": DEFINITIONS[name], "floor": metric.floor}


def _facts(run: Run) -> dict[str, Any]:
    """Name and version of a run's engine."""
    return {fact: run.engine[fact] for fact in FACTS if fact in run.engine}


def _shares(found: Difference) -> dict[str, Any]:
    """Compares the distributions over starts of each flow's share.

    `inside` weights all scenarios equally, regardless of their number of flows. It does not reach 1 even for equal engines: given two
    samples of ten starts of the same chaotic flow, the median of one is outside the range of the other in about 2 % of cases, so a scenario
    with eight flows often has one such flow.
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
    assert cell.spread is not None  # the caller passes only flows with several starts
    return cell.spread[0] - 0.01 <= cell.ours <= cell.spread[1] + 0.01


def _mean(values: Sequence[float | bool | None]) -> float | None:
    return float(np.mean(np.asarray(values, dtype=float))) if values else None


def room(run: Run) -> int | None:
    """The room of the smallest of its queues, in the largest packets of the path; None if none has a limit in packets or bytes."""
    frame_bytes = int(run.scenario["path"]["mtu"]) + ETHERNET_BYTES
    rooms = [_room(port["qdisc"], frame_bytes) for port in run.required_plan["ports"] if port["kind"] == "queue"]
    return min((each for each in rooms if each is not None), default=None)


def _room(qdisc: Mapping[str, Any], frame_bytes: int) -> int | None:
    packets, limit_bytes = qdisc.get("limit_packets"), qdisc.get("limit_bytes")
    return int(packets) if packets is not None else None if limit_bytes is None else int(limit_bytes) // frame_bytes


def shallow(runs: Iterable[Run]) -> list[str]:
    """The names of the scenarios of these runs that have a queue of at most `PACKETS`, each once."""
    rooms = ((run.name, room(run)) for run in runs)
    return list(dict.fromkeys(name for name, packets in rooms if packets is not None and packets <= PACKETS))


def shallow_summary(found: Difference, names: Iterable[str]) -> dict[str, Any]:
    """The differences in these scenarios and in all others, by metric, plain data."""
    chosen = set(names)

    def part(metric: MetricDifference, inside: bool) -> dict[str, Any]:
        cells = tuple(cell for cell in metric.cells if (cell.key["scenario"] in chosen) == inside)
        return MetricDifference(metric.metric, metric.tolerance, len(cells), cells).as_json()

    return {
        "packets": PACKETS,
        "scenarios": sorted(chosen),
        "few": {name: part(metric, True) for name, metric in found.metrics.items()},
        "others": {name: part(metric, False) for name, metric in found.metrics.items()},
    }
