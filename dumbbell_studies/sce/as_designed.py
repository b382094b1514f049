"""Our own extension: the draft's runs with the implementation that its authors describe, compared with the one that they measured.

It shows which of the draft's conclusions depend on quirks of the kernel of June 2019 (see `implementation`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.comparing.format import Format, Measured, Metric, Tolerance
from dumbbell.comparing.tables import Table
from dumbbell.drawing.heatmap import Axis, Grid, Scale, heatmaps
from dumbbell.results.runs import Runs
from dumbbell.study.model import Claim, Part, Request, View
from dumbbell_studies.sce import pairs, reductions
from dumbbell_studies.sce.claims import check_claims
from dumbbell_studies.sce.implementation import DESIGNED, DRAFT, Implementation
from dumbbell_studies.sce.marking import marking
from dumbbell_studies.sce.pair_figures import COLUMNS, INDEX, ROWS
from dumbbell_studies.sce.scenarios import QUICK_NOTE, QUICK_PAIR_NOTE, one_flow, two_flow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dumbbell.results import Run
    from dumbbell.scenario import ResolvedScenario

_IMPLEMENTATIONS = (DRAFT, DESIGNED)
_CHANGE = Scale("change of the index", -0.3, 0.3, "RdBu")
_GAIN = Scale("throughput gained / bandwidth", -0.35, 0.35, "RdBu")
_HEADLINES = (
    ("reno", "reno-sce", "flowblind"),
    ("cubic", "dctcp-sce", "flowblind"),
    ("reno", "reno-sce", "flowblind sce-single"),
    ("cubic", "dctcp-sce", "flowblind sce-single"),
    ("cubic", "dctcp-sce", "triple-isolate"),
    ("dctcp", "dctcp-sce", "triple-isolate"),
)
"""The pairs and queue modes of tables 6 to 11, on which the draft bases its conclusions about fairness."""


def scenarios(request: Request) -> list[ResolvedScenario]:
    """The one-flow, two-flow and ramp runs of both implementations."""
    return [
        replace(run, cell={reductions.IMPLEMENTATION: each.name, **run.cell})
        for each in _IMPLEMENTATIONS
        for run in (*one_flow(request, each), *two_flow(request, each), *marking(each))
    ]


def runs_of(implementation: Implementation, runs: Sequence[Run]) -> Runs:
    """The runs of one implementation, with the cells that the draft's runs have."""
    return (runs if isinstance(runs, Runs) else Runs(runs)).cached(_by_implementation)[implementation.name]


def conclusions(runs: Sequence[Run]) -> Table:
    """Each conclusion of the draft, and whether it holds with the implementation as built and as designed."""
    judged = [_claims(each, runs) for each in _IMPLEMENTATIONS]
    rows = []
    for built, designed in zip(*judged, strict=True):
        if "not_applicable" not in (built.status, designed.status):
            changed = None if built.status == designed.status else "yes"
            rows.append([built.id, built.statement, built.status, designed.status, changed, built.measured, designed.measured])
    changes = sum(row[4] == "yes" for row in rows)
    heads = ["claim", "published conclusion", DRAFT.name, DESIGNED.name, "changes", f"measured {DRAFT.name}", f"measured {DESIGNED.name}"]
    return Table(f"The draft's conclusions as built and as designed: {changes} of {len(rows)} change", heads, rows)


def designed_claims(runs: Sequence[Run]) -> list[Claim]:
    """The draft's claims, judged on the runs of the implementation as designed."""
    return _claims(DESIGNED, runs)


def fairness(runs: Sequence[Run], view: View) -> Figure:
    """Jain's index of the draft's tables 6 to 11: as built, as designed, and the change."""
    index = {each.name: _indices(runs_of(each, runs)) for each in _IMPLEMENTATIONS}

    def grids(implementation: Implementation) -> list[Grid]:
        found = index[implementation.name]
        return [
            Grid(f"{cc1}, {cc2}\n{mode}\n{implementation.name}", points, {point: f"{value:.2f}" for point, value in points.items()}, INDEX)
            for cc1, cc2, mode in _HEADLINES
            for points in [found.get((mode, cc1, cc2), {})]
        ]

    def change(cc1: str, cc2: str, mode: str) -> Grid:
        built, designed = (index[each.name].get((mode, cc1, cc2), {}) for each in _IMPLEMENTATIONS)
        points = {point: designed[point] - built[point] for point in built if point in designed}
        texts = {point: f"{value:+.2f}" if abs(value) >= 0.005 else "0" for point, value in points.items()}
        return Grid("change", points, texts, _CHANGE)

    panels = [grids(DRAFT), grids(DESIGNED), [change(*pair) for pair in _HEADLINES]]
    return heatmaps("Jain's index of two flows: the implementation as built and as designed", "", panels, ROWS, COLUMNS, view.size)


def gain(runs: Sequence[Run], view: View) -> Figure:
    """Throughput that one flow gains or loses with SCE (the draft's tables 1 and 3): as built and as designed."""

    def grid(pair: tuple[str, str], implementation: Implementation) -> Grid:
        measured = reductions.one_flow_diff(runs_of(implementation, runs))
        points: dict[reductions.GridPoint, float] = {
            (float(key[2]), float(key[3])): values[0]
            for (key, metric), values in measured.items()
            if metric == reductions.THROUGHPUT_DIFF and key[:2] == pair
        }
        title = f"{pair[0]} - {pair[1]}, {implementation.name}"
        return Grid(title, points, {point: f"{value:+.2f}" for point, value in points.items()}, _GAIN)

    panels = [[grid(pair, each) for each in _IMPLEMENTATIONS] for pair in reductions.PAIRS]
    rows, columns = Axis(ROWS.label, reductions.BANDWIDTHS_MBIT), Axis(COLUMNS.label, reductions.DELAYS_MS)
    return heatmaps("Throughput of one flow with SCE less without it, over bandwidth", "", panels, rows, columns, view.size)


def _by_implementation(runs: Runs) -> dict[str, Runs]:
    def stripped(name: str) -> Runs:
        return Runs(
            replace(run, cell={key: value for key, value in run.cell.items() if key != reductions.IMPLEMENTATION})
            for run in runs
            if run.cell.get(reductions.IMPLEMENTATION) == name
        )

    return {each.name: stripped(each.name) for each in _IMPLEMENTATIONS}


def _claims(implementation: Implementation, runs: Sequence[Run]) -> list[Claim]:
    return runs_of(implementation, runs).cached(check_claims)


def _indices(runs: Runs) -> dict[tuple[str, str, str], dict[reductions.GridPoint, float]]:
    found: dict[tuple[str, str, str], dict[reductions.GridPoint, float]] = {}
    for cell, repeats in pairs.pair_runs(runs).items():
        points = found.setdefault((cell.queue_mode, *cell.ccs), {})
        points[cell.bandwidth_mbit, cell.delay_ms] = float(np.median([run.jain for run in repeats]))
    return found


def _measure(runs: Sequence[Run]) -> Measured:
    return {
        ((each.name, *key), metric): values
        for each in _IMPLEMENTATIONS
        for (key, metric), values in pairs.jain(runs_of(each, runs)).items()
    }


AS_DESIGNED = Part(
    name="as-designed",
    title="Our extension: the draft's runs with the implementation as built and as its authors describe it",
    formats=(
        Format(
            name="sce_implementations",
            columns=(reductions.IMPLEMENTATION, "queue_mode", "cc1", "cc2", "bandwidth_mbit", "delay_ms", "metric", "value"),
            keys=(reductions.IMPLEMENTATION, "queue_mode", "cc1", "cc2", "bandwidth_mbit", "delay_ms"),
            numbers=frozenset({"bandwidth_mbit", "delay_ms"}),
            metrics={pairs.JAIN: Metric(unit="", title="Jain's index", tolerance=Tolerance(absolute=0.05))},
            measure=_measure,
        ),
    ),
    published={},
    scenarios=scenarios,
    quick_note=f"{QUICK_NOTE}; {QUICK_PAIR_NOTE}",
    figures={"as-designed": fairness, "as-designed-one-flow": gain},
    summaries=lambda runs: {"conclusions": conclusions(runs)},
    claims=designed_claims,
)
