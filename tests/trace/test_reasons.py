"""Causes that held a sender back, compared with the known ones: the simulator's plan says what is scarce."""

import re

import pytest

from dumbbell.running.prepare import compute
from dumbbell.scenario import Scenario
from dumbbell.trace import analyze
from dumbbell.trace.reasons import HOLDERS

FAST = {"rtt": "60ms", "bottleneck": {"rate": "100mbit", "shaper": "tbf", "qdisc": {"kind": "pfifo", "limit": "1000p"}}}
SLOW = {"rtt": "40ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "cake"}}}
DEEP = {"rtt": "60ms", "bottleneck": {"rate": "50mbit", "shaper": "tbf", "qdisc": {"kind": "pfifo", "limit": "10000p"}}}
REQUESTS = {"kind": "exchange", "cc": "cubic", "request": "100B", "response": "20kB"}
CASES = {
    "losses": (
        "congestion",
        {"path": {**SLOW, "delay": {"loss": "1%"}}, "flows": [{"cc": "cubic"}]},
        r"rounds with [1-9]\d* retransmitted packets",
    ),
    "marks": ("congestion", {"path": SLOW, "flows": [{"cc": "cubic", "ecn": True}]}, r"and [1-9]\d* echoes of marks"),
    "growing": ("congestion", {"path": DEEP, "flows": [{"cc": "cubic"}]}, "no losses and no marks"),
    "sender": ("sender", {"path": FAST, "flows": [{"cc": "cubic", "host": {"sndbuf": "60kB"}}]}, "a send buffer"),
    "receiver": ("receiver", {"path": FAST, "flows": [{"cc": "cubic", "host": {"rcvbuf": "60kB"}}]}, "no room in the advertised window"),
    "application": ("application", {"path": FAST, "flows": [], "background": [REQUESTS]}, "nothing in flight"),
}


def directions(settings, side):
    (resolved,) = Scenario.model_validate({"name": "s", "duration": "5s", "capture": True, **settings}).expand()
    rows = analyze(compute(resolved, on="sim").captures[f"{side}.pcap"]).rows()
    return [row for row in rows if row["data_packets"]]


@pytest.mark.parametrize("name", CASES)
def test_what_is_scarce_holds_the_sender_back(name):
    holder, settings, words = CASES[name]
    row = directions(settings, "left")[0]
    shares = {each: row[f"{each}_share"] for each in HOLDERS}
    assert sum(shares.values()) == pytest.approx(1)
    assert (row["held_by"], shares[holder] > 0.85) == (holder, True), row["evidence"]
    assert re.search(words, row["evidence"]), row["evidence"]


def test_near_the_receiver_nothing_is_said():
    row = directions(CASES["losses"][1], "right")[0]
    assert (row["held_by"], [row[f"{each}_share"] for each in HOLDERS]) == (None, [None] * len(HOLDERS))
    assert row["evidence"].startswith("captured nearer the receiver")
