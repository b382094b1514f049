"""Promises of every engine about captures: every packet at both hosts, and the path's RTT from them."""

import numpy as np
import polars as pl
import pytest
from support import PATH

from dumbbell.native import native
from dumbbell.running.prepare import prepare
from dumbbell.scenario import Scenario, ScenarioError
from dumbbell.trace import analyze, flow_rtt, packets
from dumbbell.trace.passive import EPOCH_NS


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
    # Packets that are under way at the end have left, but not arrived.
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


def test_one_point_and_two_agree_where_nothing_is_lost(run):
    found = captured(run, flows=[{"cc": "cubic", "host": {"sndbuf": "100kB"}}])
    assert found.counters["flow/cubic"]["retransmits"] == 0
    ((_, by_pairs_ms),) = flow_rtt(found).values()
    (row,) = analyze(found.captures["left.pcap"]).connections.filter(direction="forward").iter_rows(named=True)
    # The last segment that an ACK is for does not wait for it, but for one that is alone; the handshake has a pair as well.
    by_acks_ms = packets(found.captures["left.pcap"], 0).filter(reverse=True)["rtt_ms"].drop_nulls()
    assert by_acks_ms.median() == pytest.approx(np.median(by_pairs_ms), abs=0.01)
    # The histogram's buckets are 1/128 wide.
    assert row["rtt_median_ms"] == pytest.approx(np.median(by_pairs_ms), rel=1 / 256)
    assert 0 <= by_pairs_ms.size - row["rtt_samples"] <= 2
    assert row["rtt_median_ms"] > 40


def test_more_packets_than_memory_holds_are_refused(engine):
    path = {**PATH, "bottleneck": {**PATH["bottleneck"], "rate": "1gbit"}}
    for key in ("capture", "passive_rtt", "analyze"):
        scenario = {"name": "s", "path": path, "flows": [{"cc": "cubic"}], "duration": "100s", "engine": engine.name, key: True}
        with pytest.raises(ScenarioError, match=rf"^{key}: takes about 8256274 packets in 100s; expected at most 2000000, by a shorter"):
            prepare(Scenario.model_validate(scenario).expand(), on=engine.name)


def test_what_is_measured_from_packets_has_a_key_of_its_own(engine, monkeypatch):
    def keys():
        asked = [{}, {"capture": True}, {"passive_rtt": True}, {"analyze": True}]
        scenario = {"name": "s", "path": PATH, "flows": [{"cc": "cubic"}], "duration": "1s", "engine": engine.name}
        return [run.key for more in asked for run in prepare(Scenario.model_validate({**scenario, **more}).expand(), on=engine.name)]

    before = keys()
    monkeypatch.setattr(native(), "TRACE_HASH", "of another way to pair")
    assert [old == new for old, new in zip(before, keys(), strict=True)] == [True, True, False, False]


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


def test_captures_begin_on_a_fixed_day(run):
    for content in captured(run).captures.values():
        first_s = analyze(content).connections["first_s"].min()
        assert 0 <= first_s - EPOCH_NS / 1e9 < 0.1


@pytest.mark.parametrize("scaling", [True, False])
def test_a_sender_is_read_as_tcptrace_reads_it(run, scaling):
    flows = [{"cc": "cubic", "window_scaling": scaling}]
    found, kept = run(flows=flows, analyze=True, duration="6s"), captured(run, flows=flows)
    assert found.captures == {}
    (row,) = found.flows.rows()
    (own,) = analyze(kept.captures["left.pcap"]).connections.filter(pl.col("direction") == "forward").rows(named=True)
    (back,) = analyze(kept.captures["left.pcap"]).connections.filter(pl.col("direction") == "reverse").rows(named=True)
    assert row["trace_packets"] == own["packets"] + back["packets"]
    assert (row["trace_retransmits"], row["trace_rtt_ms"]) == (own["retransmitted_packets"], own["rtt_avg_ms"])
    # Linux 6.12 offers 64240 bytes of its 131072, which a shift of 7 rounds up.
    assert row["trace_window_bytes"] == own["window_avg_bytes"]
    assert (own["window_scale"], back["window_scale"]) == ((7, 7) if scaling else (None, None))
    if scaling:
        assert row["trace_window_bytes"] == 64_256
    if not scaling:
        assert back["window_max_bytes"] <= 65_535
