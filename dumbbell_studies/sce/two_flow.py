"""The two-flow part: 15 pairs of the draft's congestion controls in three queue modes."""

from __future__ import annotations

from dumbbell.study.model import Part
from dumbbell_studies.sce.claims import check_claims
from dumbbell_studies.sce.fitted import FITTED
from dumbbell_studies.sce.formats import JAIN_FORMAT, TWO_FLOW_FORMAT
from dumbbell_studies.sce.marking import marking
from dumbbell_studies.sce.pair_figures import FIGURES, cell_figures
from dumbbell_studies.sce.pair_tables import draft_tables, fairness_table
from dumbbell_studies.sce.published import FOLDER
from dumbbell_studies.sce.residual import residual_table
from dumbbell_studies.sce.scenarios import QUICK_PAIR_NOTE, two_flow

_FORMATS = (TWO_FLOW_FORMAT, JAIN_FORMAT)
SEEDS = 3
"""Runs of a cell: how two flows share a queue depends on their phases, so one run is not enough."""

TWO_FLOW = Part(
    name="two-flow",
    title="SCE, two flows: 15 pairs x 5 bandwidths x 4 delays x 3 queues x 300 s",
    formats=_FORMATS,
    published={format_.name: FOLDER / f"{format_.name}.csv" for format_ in _FORMATS},
    scenarios=lambda request: [*two_flow(request), *marking()],
    quick_note=QUICK_PAIR_NOTE,
    figures=FIGURES,
    tables=draft_tables,
    summaries=lambda runs: {"fairness": fairness_table(runs), "residual": residual_table(runs)},
    claims=check_claims,
    fitted=FITTED,
    seeds=SEEDS,
    cell_figures=cell_figures,
)
