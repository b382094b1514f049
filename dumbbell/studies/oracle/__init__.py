"""The kernel oracle: runs of the real Linux 6.12 TCP stack and qdiscs in virtual time, to set the simulator beside.

User-Mode Linux 6.12.117 with time travel: all work of the CPU takes no virtual time, so a run hangs on nothing but timers, queues and
delays. `published/summary.csv` has a row a run (its last two columns are derived from the series: how many drops or CE marks there were
and the first 100 ms sample that shows one), `published/series.parquet` the 100 ms samples.
"""

from __future__ import annotations

from dumbbell.studies.oracle.part import PARTS
from dumbbell.studies.study import Study

STUDY = Study(
    name="oracle",
    title="The Linux kernel in virtual time",
    source="Linux 6.12.117, User-Mode Linux with time travel, 100 ms samples of TCP_INFO and of the qdiscs",
    parts={part.name: part for part in PARTS},
)
