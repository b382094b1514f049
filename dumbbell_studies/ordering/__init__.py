"""Stochastic ordering for Internet congestion control: high-speed TCPs with background traffic, and how steadily the network runs.

H. Cai, D. Y. Eun, S. Ha, I. Rhee, L. Xu (North Carolina State University, 2007): eight protocols through a dummynet bottleneck of
400 Mbit/s with web traffic in both directions, 600 s each, means over 10 to 26 runs. Its tables of link utilisation are compared; its
claims are checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dumbbell.study.model import Part, Study, combine
from dumbbell_studies.ordering.background import tasks
from dumbbell_studies.ordering.claims import check_claims
from dumbbell_studies.ordering.conditions import ALONE, CONGESTED, FURTHER, VARIANCE, distinct
from dumbbell_studies.ordering.controls import ERA, MODERN, Mode
from dumbbell_studies.ordering.experiments import QUICK_NOTE as EXPERIMENTS_QUICK
from dumbbell_studies.ordering.experiments import experiment_table, experiments
from dumbbell_studies.ordering.figures import ALONE_FIGURES, CONGESTED_FIGURES, FIGURES, SCATTER_FIGURES, VARIANCE_FIGURES
from dumbbell_studies.ordering.fitted import FITTED
from dumbbell_studies.ordering.formats import IP_FORMAT, STABILITY_FORMAT, UTILIZATION_FORMAT
from dumbbell_studies.ordering.published import FOLDER
from dumbbell_studies.ordering.scenarios import QUICK_NOTE, SEEDS, alone, printed, runs
from dumbbell_studies.ordering.tables import page_tables, summaries

if TYPE_CHECKING:
    from dumbbell.comparing.tables import Table
    from dumbbell.results import Run

_PUBLISHED = FOLDER / "ncsu_utilization.csv"


def _cells(name: str, mode: Mode, seeds: int) -> Part:
    """Every cell of the page that prints a number."""
    return Part(
        name=name,
        title=f"Stochastic ordering, hosts of {mode.name if mode is ERA else mode.stack}: 8 protocols x 14 conditions x 600 s",
        formats=(UTILIZATION_FORMAT, IP_FORMAT, STABILITY_FORMAT),
        published={UTILIZATION_FORMAT.name: _PUBLISHED, IP_FORMAT.name: _PUBLISHED},
        scenarios=partial(printed, mode=mode),
        quick_note=QUICK_NOTE,
        figures=FIGURES,
        tables=page_tables,
        summaries=summaries,
        claims=check_claims,
        seeds=seeds,
        quick_seeds=1,
        fitted=FITTED if mode is ERA else (),
    )


def _further(name: str, title: str, **more: object) -> Part:
    """Runs of which no number is published."""
    fields: dict[str, object] = {
        "formats": (STABILITY_FORMAT,),
        "published": {},
        "quick_note": QUICK_NOTE,
        "figures": {},
        "tables": page_tables,
        "summaries": summaries,
        "claims": check_claims,
        "seeds": SEEDS,
        "quick_seeds": 1,
    }
    return Part(name=name, title=title, **{**fields, **more})  # type: ignore[arg-type]


def _experiment_summaries(runs: Sequence[Run]) -> Mapping[str, Table]:
    return {"experiments": experiment_table(runs)}


CELLS = _cells(ERA.name, ERA, SEEDS)
MODERN_CELLS = _cells(MODERN.name, MODERN, 3)
VARIANCE_PART = _further(
    "variance",
    "Stochastic ordering, section 9: cross traffic of two variabilities",
    scenarios=lambda request: runs(request, distinct(VARIANCE)),
    figures=VARIANCE_FIGURES,
)
CONGESTED_PART = _further(
    "congested",
    "Stochastic ordering, section 10: twelve long-lived SACK flows, 1,200 s",
    scenarios=lambda request: runs(request, distinct(CONGESTED)),
    figures=CONGESTED_FIGURES,
)
ALONE_PART = _further(
    "background",
    "Stochastic ordering: without high-speed flows",
    scenarios=lambda request: alone(request, ALONE),
    claims=check_claims,
    figures=ALONE_FIGURES,
)
FURTHER_PART = _further(
    "further",
    "Stochastic ordering: further RTTs, buffers and numbers of flows, for correlations",
    scenarios=lambda request: runs(request, FURTHER),
    figures=SCATTER_FIGURES,
)
EXPERIMENTS_PART = _further(
    "experiments",
    "Stochastic ordering: what explains the numbers",
    scenarios=experiments,
    quick_note=EXPERIMENTS_QUICK,
    summaries=_experiment_summaries,
    tables=lambda _runs: {},
    claims=None,
    seeds=5,
)
WHOLE = combine(
    "correlation", "Stochastic ordering, all runs of 2006", (CELLS, VARIANCE_PART, CONGESTED_PART, ALONE_PART, FURTHER_PART), seeds=SEEDS
)

STUDY = Study(
    name="ordering",
    title="Stochastic ordering: high-speed TCPs with background traffic",
    source="Stochastic Ordering for Internet Congestion Control (NCSU, 2007), tables of sections 4 to 8 and the claims of the page",
    parts={
        part.name: part for part in (CELLS, MODERN_CELLS, VARIANCE_PART, CONGESTED_PART, ALONE_PART, FURTHER_PART, EXPERIMENTS_PART, WHOLE)
    },
    calibrations=tasks,
    cpu_minutes={
        "2006": 100,
        "modern": 30,
        "variance": 13,
        "congested": 75,
        "background": 4,
        "further": 35,
        "experiments": 25,
        "correlation": 225,
    },
)
