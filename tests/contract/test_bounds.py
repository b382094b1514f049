"""The promises of `plan` before anything is computed: the maximum number of packets, and bounded memory."""

import numpy as np
import pytest

import dumbbell
from dumbbell import Scenario
from dumbbell.engines.base import expected_packets
from dumbbell.running.prepare import prepare
from dumbbell.scenario import ScenarioError

QUEUE = {"rate": "10mbit", "qdisc": "fq_codel"}
DUMBBELL = {"rtt": "20ms", "bottleneck": QUEUE}
FLOWS = [{"cc": "cubic"}]
BOTH = [{"cc": "cubic"}, {"cc": "cubic", "direction": "reverse"}]


def scenario(**more):
    return Scenario.model_validate({"name": "s", "path": DUMBBELL, "flows": FLOWS, "duration": "3s", **more})


@pytest.mark.parametrize(
    ("more", "share"),
    [
        ({}, 0.8),
        ({"flows": BOTH}, 0.8),
        ({"path": {**DUMBBELL, "reverse": {"rate": "40mbit", "qdisc": "fq_codel"}}, "flows": BOTH}, 0.8),
        ({"path": {**DUMBBELL, "impairments": [{"kind": "rate", "at": "500ms", "rate": "40mbit"}]}}, 0.7),
        ({"path": {**DUMBBELL, "mtu": 9000}}, 0.6),
        # Nothing but windows limits the way back: 10 Mbit/s are 2,477 packets.
        ({"path": {**DUMBBELL, "reverse": "none"}, "flows": BOTH}, 0.2),
        # cake raises its rate to that of the arrivals: 24 packets, where 1 kbit/s lets one through.
        (
            {
                "path": {"rtt": "1ms", "bottleneck": {"rate": "1kbit", "qdisc": {"kind": "cake", "autorate_ingress": True}}},
                "duration": "10s",
            },
            0.0,
        ),
        ({"background": [{"kind": "onoff", "cc": "reno", "rate": "2mbit", "write": "10kB", "direction": "reverse"}]}, 0.4),
    ],
)
def test_no_more_packets_come_than_are_promised(more, share):
    written = scenario(**more)
    (prepared,) = prepare(written.expand())
    (run,) = dumbbell.run(written)
    most, came = expected_packets(prepared.plan), run.engine["delivered_packets"]
    assert share * most <= came <= most


def test_the_way_back_counts_for_a_capture():
    written = scenario(path={**DUMBBELL, "rtt": "1ms", "reverse": "none"}, flows=BOTH, duration="60s", capture=True)
    with pytest.raises(ScenarioError, match=r"capture: takes about \d+ packets in 60s; expected at most 2000000, by a shorter duration"):
        prepare(written.expand())


@pytest.mark.parametrize(
    ("background", "count"),
    [
        ([{"kind": "page", "cc": "reno", "size": "1B", "clients": 10000, "connections": 100}], 1_000_001),
        ([{"kind": "exchange", "cc": "reno", "request": "1kB", "response": "1kB", "connections": 100_000}] * 10, 1_000_001),
        ([{"kind": "streaming", "cc": "reno", "bitrate": "1mbit", "connections": 60_000}] * 2, 120_001),
    ],
)
def test_all_connections_together_are_bounded_before_any_is_made(background, count):
    with pytest.raises(ScenarioError, match=f"background: are {count} connections in all; expected at most 100000"):
        scenario(background=background).expand()


def test_passive_rtts_are_in_order_of_time_though_packets_are_not():
    path = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "50p"}}, "delay": {"reorder": "5%"}}
    (run,) = dumbbell.run(scenario(path=path, passive_rtt=True))
    times, _ = run.series("flow/cubic", "passive_rtt_ms")
    assert len(times) > 500
    assert np.all(np.diff(times) >= 0)
