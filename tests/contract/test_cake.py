"""Promises of every engine about cake's keywords."""

import pytest

UP = {"rate": "300kbit", "qdisc": {"kind": "cake", "ack_filter": "on"}}


def test_acks_that_later_ones_make_needless_are_dropped(run):
    found = run(path={"rtt": "20ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "cake"}}, "reverse": UP}, duration="5s")
    (tin,) = found.tins.rows()
    port = found.counters["port/bottleneck-reverse"]
    # A line of 300 kbit/s carries 568 ACKs a second, and some 850 come.
    assert 0.2 < tin["ack_drops"] / tin["arrived_packets"] < 0.5
    assert tin["dropped_packets"] == 0
    assert (tin["tin"], tin["ack_drops"]) == ("bottleneck-reverse/tin0", port["dropped_aqm"])
    assert tin["peak_delay_ms"] < 10
    assert found.counters["flow/cubic"]["rx_bytes"] * 8 / 5 > 18e6


def test_a_rate_that_follows_what_comes(run):
    qdisc = {"kind": "cake", "autorate_ingress": True}
    shaped = {"rate": "50mbit", "shaper": "cake", "qdisc": qdisc}
    forward = [{"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "50p"}}, {"delay": "10ms"}, shaped]
    pings = [{"kind": "ping", "interval": "7ms"}]
    found = run(path={"forward": forward, "reverse": [{"delay": "10ms"}]}, background=pings, duration="20s")
    (tin,) = found.tins.rows()
    # It sees bursts of 10 Mbit/s and gaps; its maximum is 15/16 of that.
    assert tin["threshold_bps"] == pytest.approx(8.5e6, rel=0.1)


@pytest.mark.parametrize(("interval", "least", "most"), [("92ms", 600, 1500), ("93ms", 80, 130)])
def test_a_queue_that_was_late_before_waits_an_interval(run, interval, least, most):
    # Slow start's 38 segments wait for 19 at most (4.603 ms), its 76 for 38. A target of 4.6 ms, a twentieth of 92 ms, is first exceeded by
    # the last of the 38, and then an interval must pass; one of 4.65 ms by two of the 76 in a row, of which the second is dropped.
    path = {"rtt": "80ms", "bottleneck": {"rate": "50mbit", "qdisc": {"kind": "cake", "rtt": interval}}}
    found = run(path=path, flows=[{"cc": "reno"}], duration="1s", sample="10ms")
    _, windows = found.series("flow/reno", "cwnd")
    assert least < windows.max() < most
