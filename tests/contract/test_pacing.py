"""Paced senders on every engine."""

import numpy as np
import pytest

PATH = {"rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "pfifo", "limit": "2bdp"}}}


def test_a_most_pacing_rate_is_what_a_flow_gets_and_no_queue_builds(run):
    found = run(path=PATH, flows=[{"cc": "cubic", "host": {"max_pacing_rate": "8mbit"}}], duration="4s", sample="100ms")
    flow = found.flows.rows()[0]
    # The rate counts payload. The handshake takes a round trip, one round trip is under way at the end, and the first two have less than
    # half.
    assert flow["rx_bytes"] * 8 / 8e6 == pytest.approx(4 - 0.1, abs=0.1)
    assert flow["retransmits"] == 0
    srtt_ms = np.array(found.series("flow/cubic", "srtt_ms")[1])
    assert max(srtt_ms[5:]) < 42.2


def test_bbr_fills_the_pipe_and_little_of_the_queue(run):
    found = run(path=PATH, flows=[{"cc": "bbr"}], duration="8s", sample="100ms")
    # 20 Mbit/s of frames are 19.13 of payload.
    assert found.flows.rows()[0]["rx_bytes"] * 8 / 1e6 / 19.13 == pytest.approx(8 - 0.25, abs=0.15)
    srtt_ms = np.array(found.series("flow/bbr", "srtt_ms")[1])
    assert max(srtt_ms[:15]) > 100, "STARTUP fills the queue"
    assert np.median(srtt_ms[20:]) < 47
    assert max(srtt_ms[20:]) < 60
    cwnd = np.array(found.series("flow/bbr", "cwnd")[1])
    assert cwnd[30:] == pytest.approx(2 * 66, abs=16), "twice the bandwidth-delay product, with room for aggregation"
