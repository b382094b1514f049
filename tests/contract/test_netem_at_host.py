"""netem as a queue discipline, on every engine: its packets are delayed, and off the account of their connection."""

import numpy as np
import pytest

FLOW = {"cc": "cubic", "host": {"offload": "none"}}


def at_host(**netem):
    """The sender's own queue is a netem, of a line of 20 Mbit/s and 60 ms there and back."""
    path = {"rtt": "20ms", "bottleneck": {"rate": "100mbit", "qdisc": {"kind": "pfifo", "limit": "1000p"}}}
    hosts = {"left": {"egress": {"rate": "20mbit", "qdisc": {"kind": "netem", "delay": "40ms", **netem}}}}
    return {"path": path, "hosts": hosts, "duration": "3s", "sample": "10ms", "flows": [FLOW]}


def test_what_lies_in_a_hosts_netem_holds_nothing_back(run):
    found = run(**at_host())
    # The line holds 100 packets for 60 ms. TCP small queues would let a few of them into the host's queue.
    assert found.counters["flow/cubic"]["rx_bytes"] > 0.8 * 20e6 / 8 * 3 * 1448 / 1514
    assert np.nanmin(found.series("flow/cubic", "srtt_ms")[1]) >= 60
    assert np.nanmax(found.series("port/left-egress", "backlog_packets")[1]) > 100


def test_tcp_is_told_of_what_a_netem_refuses(run):
    found = run(**at_host(limit="100p"))
    port, flow = found.counters["port/left-egress"], found.counters["flow/cubic"]
    assert port["dropped_overflow"] > 0
    assert port["arrived_packets"] == port["sent_packets"] + port["dropped_overflow"] + port["queued_packets"]
    assert flow["retransmits"] == 0


def test_a_netem_at_the_bottleneck_delays_what_waits_for_nothing(run):
    path = {"rtt": "20ms", "bottleneck": {"rate": "100mbit", "qdisc": {"kind": "netem", "delay": "30ms"}}}
    found = run(path=path, flows=[FLOW], duration="1s", sample="10ms")
    # It is mirrored: ACKs wait as long.
    assert np.nanmin(found.series("flow/cubic", "srtt_ms")[1]) == pytest.approx(80.1, abs=0.1)
