"""What every engine promises about captures: every packet at both hosts, and the path's RTT from them."""

import numpy as np
import pytest

from dumbbell.trace import analyze, flow_rtt


def captured(run, **more):
    return run(capture=True, duration="6s", **more)


def test_both_hosts_see_every_packet(run):
    found = captured(run)
    assert set(found.captures) == {"left.pcap", "right.pcap"}
    counters = found.counters["flow/cubic"]
    left, right = (analyze(found.captures[f"{side}.pcap"]).connections for side in ("left", "right"))
    sent, back = left.row(0, named=True), left.row(1, named=True)
    arrived = right.row(0, named=True)
    assert (sent["direction"], back["direction"]) == ("forward", "reverse")
    dropped = sum(found.counters["port/bottleneck"].get(f"dropped_{cause}", 0) for cause in ("overflow", "aqm"))
    # What is under way at the end has left, but not arrived.
    assert 0 <= sent["packets"] - arrived["packets"] - dropped <= 200
    assert sent["retransmitted_packets"] == counters["retransmits"]
    assert arrived["unique_bytes"] >= counters["rx_bytes"]
    assert back["sack_packets"] > 0


def test_sender_and_pairs_see_the_same_queue(run):
    found = captured(run, sample="10ms")
    ((entity, (t_s, rtt_ms)),) = flow_rtt(found).items()
    assert entity == "flow/cubic"
    assert np.all(np.diff(t_s) > 0)
    assert rtt_ms.min() >= 20
    srtt_ms = found.series(entity, "srtt_ms")[1]
    steady = rtt_ms[t_s > 3]
    assert np.median(steady) == pytest.approx(np.nanmedian(srtt_ms[len(srtt_ms) // 2 :]), rel=0.05)
    # A hundred packets at 10 Mbit/s and the base RTT, and a packet's own time.
    assert steady.max() == pytest.approx(20 + 101 * 1.2112, abs=2.5)


def test_the_rtt_may_be_kept_without_the_packets(run):
    found = run(passive_rtt=True, duration="6s", sample="1s")
    kept = captured(run, sample="1s")
    assert found.captures == {}
    ((entity, (t_s, rtt_ms)),) = flow_rtt(kept).items()
    assert np.array_equal(found.series(entity, "passive_rtt_ms"), (t_s, rtt_ms))
    assert found.series("flow/cubic", "cwnd")[0].size == kept.series("flow/cubic", "cwnd")[0].size


def test_hosts_that_differ_are_measured_too(run):
    found = captured(run, flows=[{"cc": "cubic"}, {"cc": "reno", "ecn": True}, {"cc": "dctcp"}])
    assert {entity: len(rtt_ms) > 300 for entity, (_, rtt_ms) in flow_rtt(found).items()} == {
        "flow/cubic": True,
        "flow/reno": True,
        "flow/dctcp": True,
    }


def test_flows_are_told_apart_whichever_way_they_go(run):
    found = captured(run, flows=[{"cc": "cubic", "count": 2}, {"cc": "reno", "direction": "reverse"}])
    samples = flow_rtt(found)
    assert set(samples) == {"flow/cubic-1", "flow/cubic-2", "flow/reno"}
    for _, rtt_ms in samples.values():
        assert len(rtt_ms) > 300
        assert 20 <= np.median(rtt_ms) < 300
