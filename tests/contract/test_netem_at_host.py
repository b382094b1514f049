"""netem as a queue discipline, on every engine: what it holds is there and delayed, and off the account of its connection."""

import pytest

PATH = {"rtt": "20ms", "bottleneck": {"rate": "100mbit", "qdisc": {"kind": "pfifo", "limit": "1000p"}}}


def at_host(**netem):
    """The sender's own queue is a netem."""
    return {"left": {"egress": {"rate": "20mbit", "qdisc": {"kind": "netem", "delay": "40ms", **netem}}}}


@pytest.mark.parametrize("cc", ["cubic", "reno"])
def test_what_lies_in_a_hosts_netem_holds_nothing_back(run, cc):
    found = run(path=PATH, hosts=at_host(), flows=[{"cc": cc, "host": {"offload": "none"}}], duration="3s", sample="10ms")
    row = found.flows.rows()[0]
    # Small queues would let a millisecond of it in, 20 packets a second and a bit.
    assert row["rx_bytes"] * 8 / 1e6 == pytest.approx(19.13 * (3 - 0.5), rel=0.06)
    assert min(found.series(f"flow/{cc}", "rtt_ms")[1][5:]) >= 60
    assert max(found.series("port/left-egress", "backlog_packets")[1]) > 70


def test_tcp_is_told_of_what_a_netem_refuses(run):
    found = run(path=PATH, hosts=at_host(limit="100p"), flows=[{"cc": "cubic", "host": {"offload": "none"}}], duration="4s", sample="10ms")
    assert found.counters["port/left-egress"]["dropped_packets"] > 0
    assert found.counters["flow/cubic"]["retransmits"] == 0


def test_a_netem_at_the_bottleneck_delays_what_waits_for_nothing(run):
    path = {"rtt": "20ms", "bottleneck": {"rate": "100mbit", "qdisc": {"kind": "netem", "delay": "30ms"}}}
    found = run(path=path, flows=[], background=[{"kind": "ping", "every": "100ms"}], duration="1s")
    assert found.flows.rows()[0]["rtt_mean_ms"] == pytest.approx(50.02, abs=0.02)
