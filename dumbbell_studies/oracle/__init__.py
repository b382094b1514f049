"""The kernel oracle: runs of the real Linux 6.12 TCP stack and qdiscs in virtual time, with which the simulator is compared.

The kernel is User-Mode Linux 6.12.117 with time travel. Computing takes no virtual time, so a run depends only on timers, queues and
delays. `published/series.parquet` has the samples, taken every 100 ms. `published/summary.csv` has one row per run. Its last two columns
are derived from the series: the number of drops or CE marks, and the time of the first sample that shows one.
"""

from __future__ import annotations

from dumbbell.study.model import Study
from dumbbell_studies.oracle.part import PARTS

STUDY = Study(
    name="oracle",
    title="The Linux kernel in virtual time",
    source="Linux 6.12.117, User-Mode Linux with time travel, 100 ms samples of TCP_INFO and of the qdiscs",
    parts={part.name: part for part in PARTS},
    cpu_minutes={part.name: 0.1 for part in PARTS},
)
