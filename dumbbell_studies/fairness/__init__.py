"""TCP Fairness: transfers of 100 MiB of four congestion controls, with delays, socket buffers and outages.

A student report of the University of Alberta (2011): SACK, CUBIC, HighSpeed and Westwood alone and against SACK, over 100 Mbit/s with netem
at the senders. Elapsed times, segments retransmitted and advertised windows are compared; its claims are checked.
"""

from __future__ import annotations

from dumbbell.scenario import ResolvedScenario
from dumbbell.study.model import Part, Request, Study
from dumbbell_studies.fairness import experiments, mechanisms
from dumbbell_studies.fairness.claims import check_claims
from dumbbell_studies.fairness.figures import FIGURES
from dumbbell_studies.fairness.fitted import FITTED
from dumbbell_studies.fairness.formats import FORMAT
from dumbbell_studies.fairness.published import RUNS
from dumbbell_studies.fairness.scenarios import ERA, MODERN, QUICK_NOTE, SEEDS, Mode, runs
from dumbbell_studies.fairness.tables import group_tables, summaries


def _scenarios(mode: Mode) -> Part:
    """Every scenario of the report."""
    hosts = "hosts of the report" if mode is ERA else "linux-6.12 and buffers that limit nobody"

    def wanted(request: Request) -> list[ResolvedScenario]:
        return runs(request, mode)

    return Part(
        name=mode.name,
        title=f"TCP Fairness, {hosts}: 32 scenarios of 100 MiB",
        formats=(FORMAT,),
        published={FORMAT.name: RUNS} if mode is ERA else {},
        scenarios=wanted,
        quick_note=QUICK_NOTE,
        figures=FIGURES,
        tables=group_tables,
        summaries=summaries,
        claims=check_claims,
        seeds=SEEDS if mode is ERA else 3,
        quick_seeds=1,
        fitted=FITTED if mode is ERA else (),
    )


REPORT, RERUN = _scenarios(ERA), _scenarios(MODERN)
EXPERIMENTS = Part(
    name="experiments",
    title="TCP Fairness: what explains the numbers",
    formats=(FORMAT,),
    published={},
    scenarios=experiments.experiments,
    quick_note=experiments.QUICK_NOTE,
    figures={},
    summaries=experiments.summaries,
    claims=check_claims,
    seeds=3,
    quick_seeds=1,
)
MECHANISMS = Part(
    name="mechanisms",
    title="TCP Fairness: what bounds a transfer, on today's Linux",
    formats=(FORMAT,),
    published={},
    scenarios=mechanisms.scenarios,
    quick_note=mechanisms.QUICK_NOTE,
    figures={},
    summaries=mechanisms.summaries,
    quick_seeds=1,
)
STUDY = Study(
    name="fairness",
    title="TCP Fairness: transfers, buffers, outages",
    source="TCP Fairness (University of Alberta, 2011), the results of groups 1 to 3 and the claims of the text",
    parts={part.name: part for part in (REPORT, RERUN, EXPERIMENTS, MECHANISMS)},
    cpu_minutes={"2011": 2, "modern": 1, "experiments": 1, "mechanisms": 0.1},
)
