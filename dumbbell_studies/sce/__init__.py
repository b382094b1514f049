"""One and two flows through Cake with "Some Congestion Experienced" (SCE).

P. Heist, R. Grimes, J. Morton, draft-heist-tsvwg-sce-one-and-two-flow-tests-00 (IETF, July 2019); measured on 2019-06-20 with the
SCE kernel of that date, which is based on Linux 5.1-rc2.
"""

from __future__ import annotations

from dumbbell.study.model import Study, combine
from dumbbell_studies.sce.as_designed import AS_DESIGNED
from dumbbell_studies.sce.beside_l4s import BESIDE_L4S
from dumbbell_studies.sce.cubic_sce import CUBIC_SCE
from dumbbell_studies.sce.kernel import KERNEL
from dumbbell_studies.sce.kernel_pairs import KERNEL_PAIRS
from dumbbell_studies.sce.one_flow import ONE_FLOW
from dumbbell_studies.sce.two_flow import TWO_FLOW

WHOLE = combine("draft", "SCE, the whole draft", (ONE_FLOW, TWO_FLOW), seeds=TWO_FLOW.seeds)

STUDY = Study(
    name="sce",
    title="SCE one- and two-flow tests",
    source="draft-heist-tsvwg-sce-one-and-two-flow-tests-00, tables 1-111",
    parts={part.name: part for part in (WHOLE, ONE_FLOW, TWO_FLOW, KERNEL, KERNEL_PAIRS, CUBIC_SCE, AS_DESIGNED, BESIDE_L4S)},
    cpu_minutes={"draft": 12, "one-flow": 1, "two-flow": 10, "kernel": 4, "kernel-pairs": 4, "cubic-sce": 4, "as-designed": 8, "l4s": 12},
    kernel_part=KERNEL.name,
)
