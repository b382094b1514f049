"""L4S Tests: what two flows get through DualPI2, fq_codel and drop-tail queues.

Heist, Morton, "L4S Tests" (2020 and 2021), the tabled pairs of CUBIC and Prague at 50 and 10 Mbit/s.
"""

from __future__ import annotations

from dumbbell.study.model import Study
from dumbbell_studies.l4s.two_flow import TWO_FLOW

STUDY = Study(
    name="l4s",
    title="L4S Tests: two flows through DualPI2, fq_codel and pfifo",
    source="heistp/l4s-tests at e21cd91a, s1_table.md and key findings",
    parts={TWO_FLOW.name: TWO_FLOW},
    cpu_minutes={TWO_FLOW.name: 0.5},
)
