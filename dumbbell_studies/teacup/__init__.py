"""TEACUP: queue disciplines and the behaviour of NewReno and CUBIC over time.

CAIA Technical Report 140630A (Swinburne University, June 2014): three flows started 20 s apart over 10 Mbit/s, from FreeBSD 9.2 or Linux
3.9.8 hosts, through pfifo, PIE, codel or fq_codel of a Linux 3.10.18 router. The report prints figures but no tables of numbers, so its
claims are compared.
"""

from __future__ import annotations

from dumbbell.study.model import Part, Study
from dumbbell_studies.teacup import beyond
from dumbbell_studies.teacup.claims import check_claims
from dumbbell_studies.teacup.figures import FIGURES
from dumbbell_studies.teacup.fitted import FITTED
from dumbbell_studies.teacup.measures import FORMAT, summaries
from dumbbell_studies.teacup.scenarios import QUICK_NOTE, SEEDS, further_scenarios, scenarios

TRIALS = Part(
    name="trials",
    title="TEACUP: three flows, 2 congestion controls x 4 queue disciplines x 20 and 200 ms",
    formats=(FORMAT,),
    published={},
    scenarios=scenarios,
    quick_note=QUICK_NOTE,
    figures=FIGURES,
    summaries=summaries,
    claims=check_claims,
    claims_bar=0.90,
    seeds=SEEDS,
    fitted=FITTED,
)

FURTHER = Part(
    name="cdg",
    title="TEACUP: the same trials with CDG and CUBIC of FreeBSD 9",
    formats=(FORMAT,),
    published={},
    scenarios=further_scenarios,
    quick_note="2 seeds unless --seeds says otherwise",
    figures={},
    summaries=summaries,
    seeds=SEEDS,
)

BEYOND = Part(
    name="next",
    title="TEACUP: what the report names as next: ECN, parameters of PIE and fq_codel, asymmetric rates and delays",
    formats=(FORMAT,),
    published={},
    scenarios=beyond.scenarios,
    quick_note=beyond.QUICK_NOTE,
    figures={},
    summaries=beyond.summaries,
    seeds=beyond.SEEDS,
)

STUDY = Study(
    name="teacup",
    title="TEACUP trials: queue disciplines and behaviour over time",
    source="CAIA TR 140630A, figures 2 to 14 and the claims of their discussion",
    parts={each.name: each for each in (TRIALS, FURTHER, BEYOND)},
    cpu_minutes={TRIALS.name: 1, FURTHER.name: 1, BEYOND.name: 1},
)
