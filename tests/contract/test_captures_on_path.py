"""Promises of every engine about captures at points of the path."""

import numpy as np
import pytest
from support import PATH

from dumbbell.trace import analyze, pairs_between

HOSTS = {"left": {"egress": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "3p"}}}}


def at(found, name, direction):
    """A row of the analysis of one capture."""
    return analyze(found.captures[name]).connections.filter(direction=direction).row(0, named=True)


def test_a_point_behind_the_bottleneck_sees_both_directions(run):
    found = run(capture=["bottleneck"], duration="6s")
    assert set(found.captures) == {"port-bottleneck.pcap"}
    data, acks = (at(found, "port-bottleneck.pcap", direction) for direction in ("forward", "reverse"))
    # A packet on the link at the end has been sent, and has not come out.
    assert 0 <= found.counters["port/bottleneck"]["sent_packets"] - data["packets"] <= 1
    assert 0 <= found.counters["port/bottleneck-reverse"]["sent_packets"] - acks["packets"] <= 1
    # A packet that was dropped before is seen once.
    assert found.counters["flow/cubic"]["retransmits"] > 0 == data["retransmitted_packets"]
    # 10 ms to the receiver and back.
    assert 10 <= data["rtt_min_ms"] <= 11.5


def test_every_packet_takes_its_time_from_point_to_point(run):
    found = run(capture=["hosts", "bottleneck", "delay"], duration="4s")
    assert set(found.captures) == {"left.pcap", "right.pcap", "port-bottleneck.pcap", "port-delay.pcap"}

    def way(near, far):
        """Packets of the data that were lost between two points, and their least and largest delay in ms."""
        passed = pairs_between(found.captures[near], found.captures[far]).ways
        # The data are what is most.
        row = passed.sort("packets", descending=True).row(0, named=True)
        return row["lost"], row["delay_min_ms"], row["delay_max_ms"]

    lost, least, largest = way("port-delay.pcap", "port-bottleneck.pcap")
    assert lost == pytest.approx(found.counters["port/bottleneck"]["dropped_overflow"], abs=102)
    # A bucket that is full lets a packet out at once; the last of a hundred waits for those before it.
    assert (least, largest) == (0, pytest.approx(100 * 1.2112, abs=1.3))
    lost, least, largest = way("left.pcap", "port-delay.pcap")
    assert (lost, least, largest) == (0, pytest.approx(10, abs=0.01), pytest.approx(10, abs=0.01))
    lost, least, largest = way("port-bottleneck.pcap", "right.pcap")
    assert (lost, least, largest) == (0, 0, 0)


def test_a_host_shows_what_has_left_its_own_queue(run):
    flows = [{"cc": "cubic", "name": "a"}, {"cc": "cubic", "name": "b"}]
    path = {**PATH, "bottleneck": {**PATH["bottleneck"], "rate": "20mbit"}}
    found = run(capture=True, hosts=HOSTS, flows=flows, path=path, duration="3s")
    sent, arrived = (
        analyze(found.captures[f"{side}.pcap"]).connections.filter(direction="forward")["packets"].sum() for side in ("left", "right")
    )
    port = found.counters["port/left-egress"]
    assert port["dropped_overflow"] > 0
    assert 0 <= port["sent_packets"] - sent <= 1
    assert 0 <= sent - arrived <= 40


def test_the_rtt_may_be_kept_without_the_packets_of_the_hosts(run):
    found = run(capture=["bottleneck"], passive_rtt=True, duration="2s")
    assert set(found.captures) == {"port-bottleneck.pcap"}
    assert np.nanmin(found.series("flow/cubic", "passive_rtt_ms")[1]) >= 20
