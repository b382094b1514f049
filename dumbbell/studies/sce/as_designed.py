"""Our own extension: the draft's runs with the implementation as its authors describe it, beside the one that they measured.

Says which of the draft's conclusions rest on quirks of the kernel of June 2019 (see `implementation`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.comparing.format import Format, Measured, Metric, Tolerance
from dumbbell.comparing.tables import Table
from dumbbell.drawing.heatmap import Axis, Grid, Scale, heatmaps
from dumbbell.studies.runs import Runs
from dumbbell.studies.sce import pairs as p
from dumbbell.studies.sce import reductions as r
from dumbbell.studies.sce.claims import check_claims
from dumbbell.studies.sce.implementation import DESIGNED, DRAFT, Implementation
from dumbbell.studies.sce.marking import marking
from dumbbell.studies.sce.pair_figures import COLUMNS, INDEX, ROWS, Place
from dumbbell.studies.sce.scenarios import QUICK_NOTE, QUICK_PAIR_NOTE, one_flow, two_flow
from dumbbell.studies.study import Claim, Part, Request, View

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
"""The pairs and queues that the draft draws its conclusions on fairness from: tables 6 to 11."""


def scenarios(request: Request) -> list[ResolvedScenario]:
    """One-flow, two-flow and ramp runs of both implementations."""
    return [
        replace(run, cell={r.IMPLEMENTATION: each.name, **run.cell})
        for each in _IMPLEMENTATIONS
        for run in (*one_flow(request, each), *two_flow(request, each), *marking(each))
    ]


def of(implementation: Implementation, runs: Sequence[Run]) -> Runs:
    """The runs of one implementation, each in the draft's cell."""
    return (runs if isinstance(runs, Runs) else Runs(runs)).once(_split)[implementation.name]


def conclusions(runs: Sequence[Run]) -> Table:
    """Every conclusion of the draft, and whether it holds with the implementation as built and as designed."""
    judged = [_judged(each, runs) for each in _IMPLEMENTATIONS]
    rows = []
    for built, designed in zip(*judged, strict=True):
        if "not_applicable" not in (built.status, designed.status):
            changed = "" if built.status == designed.status else "yes"
            rows.append([built.id, built.statement, built.status, designed.status, changed, built.measured, designed.measured])
    changes = sum(row[4] == "yes" for row in rows)
    heads = ["claim", "published conclusion", DRAFT.name, DESIGNED.name, "changes", f"measured {DRAFT.name}", f"measured {DESIGNED.name}"]
    return Table(f"The draft's conclusions as built and as designed: {changes} of {len(rows)} change", heads, rows)


def designed_claims(runs: Sequence[Run]) -> list[Claim]:
    """The draft's claims judged on the implementation as designed."""
    return _judged(DESIGNED, runs)


def fairness(runs: Sequence[Run], view: View) -> Figure:
    """Jain's index of the draft's tables 6 to 11 as built, as designed, and the change."""
    index = {each.name: _indices(of(each, runs)) for each in _IMPLEMENTATIONS}

    def grids(implementation: Implementation) -> list[Grid]:
        found = index[implementation.name]
        return [
            Grid(f"{cc1}, {cc2}\n{mode}\n{implementation.name}", places, {place: f"{value:.2f}" for place, value in places.items()}, INDEX)
            for cc1, cc2, mode in _HEADLINES
            for places in [found.get((mode, cc1, cc2), {})]
        ]

    def change(cc1: str, cc2: str, mode: str) -> Grid:
        built, designed = (index[each.name].get((mode, cc1, cc2), {}) for each in _IMPLEMENTATIONS)
        places = {place: designed[place] - built[place] for place in built if place in designed}
        texts = {place: f"{value:+.2f}" if abs(value) >= 0.005 else "0" for place, value in places.items()}
        return Grid("change", places, texts, _CHANGE)

    panels = [grids(DRAFT), grids(DESIGNED), [change(*which) for which in _HEADLINES]]
    return heatmaps("Jain's index of two flows: the implementation as built and as designed", "", panels, ROWS, COLUMNS, view.size)


def gain(runs: Sequence[Run], view: View) -> Figure:
    """What SCE gains or costs one flow (the draft's tables 1 and 3) as built and as designed."""

    def grid(pair: tuple[str, str], implementation: Implementation) -> Grid:
        measured = r.one_flow_diff(of(implementation, runs))
        places: dict[Place, float] = {
            (float(key[2]), float(key[3])): values[0]
            for (key, metric), values in measured.items()
            if metric == r.THROUGHPUT_DIFF and key[:2] == pair
        }
        title = f"{pair[0]} - {pair[1]}, {implementation.name}"
        return Grid(title, places, {place: f"{value:+.2f}" for place, value in places.items()}, _GAIN)

    panels = [[grid(pair, each) for each in _IMPLEMENTATIONS] for pair in r.PAIRS]
    rows, columns = Axis(ROWS.label, r.BANDWIDTHS_MBIT), Axis(COLUMNS.label, r.DELAYS_MS)
    return heatmaps("Throughput of one flow with SCE less without it, over bandwidth", "", panels, rows, columns, view.size)


def _split(runs: Runs) -> dict[str, Runs]:
    def stripped(name: str) -> Runs:
        return Runs(
            replace(run, cell={key: value for key, value in run.cell.items() if key != r.IMPLEMENTATION})
            for run in runs
            if run.cell.get(r.IMPLEMENTATION) == name
        )

    return {each.name: stripped(each.name) for each in _IMPLEMENTATIONS}


def _judged(implementation: Implementation, runs: Sequence[Run]) -> list[Claim]:
    return of(implementation, runs).once(check_claims)


def _indices(runs: Runs) -> dict[tuple[str, str, str], dict[Place, float]]:
    found: dict[tuple[str, str, str], dict[Place, float]] = {}
    for cell, repeats in p.pair_runs(runs).items():
        places = found.setdefault((cell.queue_mode, *cell.ccs), {})
        places[cell.bandwidth_mbit, cell.delay_ms] = float(np.median([run.jain for run in repeats]))
    return found


def _measure(runs: Sequence[Run]) -> Measured:
    return {((each.name, *key), metric): values for each in _IMPLEMENTATIONS for (key, metric), values in p.jain(of(each, runs)).items()}


AS_DESIGNED = Part(
    name="as-designed",
    title="Our extension: the draft's runs with the implementation as built and as its authors describe it",
    formats=(
        Format(
            name="sce_implementations",
            columns=(r.IMPLEMENTATION, "queue_mode", "cc1", "cc2", "bandwidth_mbit", "delay_ms", "metric", "value"),
            keys=(r.IMPLEMENTATION, "queue_mode", "cc1", "cc2", "bandwidth_mbit", "delay_ms"),
            numbers=frozenset({"bandwidth_mbit", "delay_ms"}),
            metrics={p.JAIN: Metric(unit="", title="Jain's index", tolerance=Tolerance(absolute=0.05))},
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
