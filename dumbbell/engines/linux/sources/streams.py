"""Streams of datagrams that measure, as the agents at their two ends have noted them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dumbbell.engines.base import measuring
from dumbbell.metrics.datagrams import NOT_SENT, UNDER_WAY, Datagrams
from dumbbell.plan import Plan


@dataclass(frozen=True)
class Stream:
    """A stream until the end of the run."""

    datagrams: Datagrams
    late_replies: int
    """Replies that are left out, though they were back in time and are counted: see `streams`."""


def streams(plan: Plan, folder: Path) -> dict[int, Stream]:
    """Return the streams by their positions among all flows. A datagram that arrived after the end of the run was under way.

    In real time a machine may note an arrival late, and after the end if the end was near. The reply may have been back before. The arrival
    time of the datagram is not known then, so that both the datagram and its reply count as under way.
    """
    found: dict[int, Stream] = {}
    for i, workload in measuring(plan).items():
        sent_ns, there_ns, back_ns = np.fromfile(folder / f"datagrams-{i}", dtype="<i8").reshape(-1, 3).T.copy()
        is_late = there_ns > plan.duration_ns
        back_ns[back_ns > plan.duration_ns] = UNDER_WAY
        if not workload.parameters["reply"]:
            back_ns[:] = NOT_SENT
        late_replies = int((is_late & (back_ns >= 0)).sum())
        there_ns[is_late] = UNDER_WAY
        back_ns[there_ns < 0] = NOT_SENT
        found[i] = Stream(Datagrams(sent_ns, there_ns, back_ns), late_replies)
    return found
