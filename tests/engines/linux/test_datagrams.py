"""Arrivals of datagrams as machines in real time note them."""

import numpy as np
import pytest
from support import planned

from dumbbell.engines import datagrams
from dumbbell.engines.linux.collect import streams
from dumbbell.metrics.datagrams import LOST, NOT_SENT, UNDER_WAY

MS = 10**6
END_NS = 10**10


def read(tmp_path, *times):
    """The stream of a ping that left these times: sent, there and back, ns."""
    plan = planned("kernel", background=[{"kind": "ping"}]).plan
    np.array(times, dtype="<i8").tofile(tmp_path / "datagrams-1")
    (found,) = streams(plan, tmp_path).items()
    assert found[0] == 1
    return plan, *found[1]


@pytest.mark.parametrize(
    ("times", "expected", "by_reply"),
    [
        pytest.param((0, 10 * MS, 20 * MS), (10 * MS, 20 * MS), 0, id="in time"),
        pytest.param((END_NS - 5, END_NS + 1, LOST), (UNDER_WAY, NOT_SENT), 0, id="under way"),
        pytest.param((END_NS - 5, END_NS, END_NS + 1), (END_NS, UNDER_WAY), 0, id="reply under way"),
        pytest.param((0, LOST, LOST), (LOST, NOT_SENT), 0, id="lost"),
        pytest.param((END_NS - 9, END_NS + 7, END_NS - 1), (END_NS - 1, END_NS - 1), 1, id="noted late"),
        pytest.param((0, LOST, 20 * MS), (20 * MS, 20 * MS), 1, id="not noted"),
    ],
)
def test_a_reply_in_time_shows_that_its_request_arrived(tmp_path, times, expected, by_reply):
    _, stream, shown = read(tmp_path, times)
    assert ((int(stream.there_ns[0]), int(stream.back_ns[0])), shown) == (expected, by_reply)


def test_what_was_counted_differs_by_arrivals_that_a_reply_has_shown(tmp_path):
    """The machine at the other end counts what it notes in time, the sender's the replies."""
    plan, stream, shown = read(tmp_path, (0, 10 * MS, 20 * MS), (END_NS - 9, END_NS + 7, END_NS - 1))
    counted = {"sent_packets": 2, "arrived_packets": 1, "acks_sent": 1, "acks_arrived": 2}
    assert list(datagrams.unaccounted(plan, "ping", stream, counted))
    counted = {**counted, "arrived_packets": 1 + shown, "acks_sent": 1 + shown}
    assert not list(datagrams.unaccounted(plan, "ping", stream, counted))
