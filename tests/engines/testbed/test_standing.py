"""Packets in flight that the bottleneck does not hold."""

import numpy as np
import pytest
from support import planned

from dumbbell.engines.testbed.standing import doubts

FIFO = {"kind": "pfifo", "limit": "100p"}
PATH = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "shaper": "tbf", "qdisc": FIFO}}
ON_PATH = 10e6 * 20e-3 / 8 / 1514


def said(folder, inflight, queued, /, **more):
    """Return the messages about a run in which each flow always has `inflight` packets in flight, and the bottleneck `queued`."""
    plan = planned("testbed", **{"path": PATH, "flows": [{"cc": "cubic"}], "duration": "8s", **more}).plan
    t_ns = np.arange(0, plan.duration_ns + 1, 100_000_000, dtype=float)
    for i, _ in enumerate(plan.flows):
        rows = np.full((t_ns.size, 11), np.nan)
        rows[:, 0], rows[:, 5] = t_ns, inflight
        rows.tofile(folder / f"flow-{i}")
    for i, _ in enumerate(plan.ports):
        rows = np.zeros((t_ns.size, 7))
        rows[:, 0], rows[:, 2] = t_ns, queued
        rows.tofile(folder / f"port-{i}")
    return list(doubts(plan, folder))


def test_a_queue_that_holds_all_but_the_path(tmp_path):
    assert said(tmp_path, ON_PATH + 80, 78) == []
    assert said(tmp_path, (ON_PATH + 80) / 2, 78, flows=[{"cc": "cubic", "count": 2}]) == []
    # A flow cannot fill this path.
    assert said(tmp_path, 5, 0) == []


def test_segments_that_are_one_packet_there(tmp_path):
    assert said(tmp_path, ON_PATH + 240, 80) == [
        "port/bottleneck: flows have 240 packets in flight beyond the path on average, and the queue holds 80: "
        "another queue holds them, or one packet there is several segments"
    ]


@pytest.mark.parametrize(
    "more",
    [
        {"path": {**PATH, "bottleneck": {**PATH["bottleneck"], "qdisc": {"kind": "fq_codel"}}}},
        {"background": [{"kind": "udp", "rate": "1mbit"}]},
        {"flows": [{"cc": "cubic"}, {"cc": "cubic", "rtt": "90ms"}]},
        {"flows": [{"cc": "cubic", "bytes": "1MB"}]},
        {"flows": [{"cc": "cubic"}, {"cc": "cubic", "direction": "reverse"}]},
    ],
)
def test_what_cannot_be_said(tmp_path, more):
    assert said(tmp_path, 900, 1, **more) == []


def test_small_segments_take_less_of_the_path(tmp_path):
    on_path = ON_PATH * 1514 / (536 + 66)
    small = [{"cc": "cubic", "mss": 536}]
    assert said(tmp_path, on_path + 80, 78, flows=small) == []
    assert said(tmp_path, on_path + 240, 80, flows=small) != []
    assert said(tmp_path, on_path + 240, 80, flows=[*small, {"cc": "cubic"}]) == [], "of different sizes nobody knows"
