"""Arrivals of datagrams as machines in real time note them."""

import numpy as np
import pytest
from support import planned

from dumbbell.engines.linux.sources.streams import streams
from dumbbell.metrics.datagrams import LOST, NOT_SENT, UNDER_WAY

MS = 10**6
END_NS = 10**10


@pytest.mark.parametrize(
    ("times", "expected", "late_replies"),
    [
        pytest.param((0, 10 * MS, 20 * MS), (10 * MS, 20 * MS), 0, id="in time"),
        pytest.param((END_NS - 5, END_NS + 1, LOST), (UNDER_WAY, NOT_SENT), 0, id="under way"),
        pytest.param((END_NS - 5, END_NS + 1, END_NS + 2), (UNDER_WAY, NOT_SENT), 0, id="both after the end"),
        pytest.param((END_NS - 5, END_NS, END_NS + 1), (END_NS, UNDER_WAY), 0, id="reply under way"),
        pytest.param((0, LOST, LOST), (LOST, NOT_SENT), 0, id="lost"),
        pytest.param((END_NS - 9, END_NS + 7, END_NS - 1), (UNDER_WAY, NOT_SENT), 1, id="noted late"),
        pytest.param((0, LOST, 20 * MS), (LOST, NOT_SENT), 0, id="never noted"),
    ],
)
def test_what_is_noted_after_the_end_was_under_way(tmp_path, times, expected, late_replies):
    plan = planned("kernel", background=[{"kind": "ping"}]).plan
    np.array([times], dtype="<i8").tofile(tmp_path / "datagrams-1")
    ((place, found),) = streams(plan, tmp_path).items()
    assert place == 1
    (there_ns,), (back_ns,) = found.datagrams.there_ns, found.datagrams.back_ns
    assert ((there_ns, back_ns), found.late_replies) == (expected, late_replies)
