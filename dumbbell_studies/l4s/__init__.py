"""L4S flows with classic ones, through DualPI2 and other queues.

- `two-flow`: Heist, Morton, "L4S Tests" (2020 and 2021), the tabled pairs of CUBIC and Prague at 50 and 10 Mbit/s
- `pam25`: Sarpkaya, Fund, Panwar, "To adopt or not to adopt L4S-compatible congestion control?" (PAM 2025), the cells of Prague
"""

from __future__ import annotations

from dumbbell.study.model import Study
from dumbbell_studies.l4s.pam25 import PAM25
from dumbbell_studies.l4s.two_flow import TWO_FLOW

STUDY = Study(
    name="l4s",
    title="L4S flows with classic ones: L4S Tests, PAM 2025",
    source="heistp/l4s-tests at e21cd91a, s1_table.md and key findings; fatihsarpkaya/L4S-PAM2025 at 60114fc6",
    parts={TWO_FLOW.name: TWO_FLOW, PAM25.name: PAM25},
    cpu_minutes={TWO_FLOW.name: 0.5, PAM25.name: 10},
)
