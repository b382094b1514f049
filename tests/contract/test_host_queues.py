"""Hosts with a queue of their own: TCP hears of drops there, and of packets that leave."""

import numpy as np
import pytest

PATH = {"rtt": "40ms", "reverse": "none", "bottleneck": {"rate": "100mbit", "shaper": "tbf", "qdisc": {"kind": "pfifo", "limit": "1000p"}}}

SECONDS = 8
CAPACITY = 10e6 / 8 * SECONDS * 1448 / 1514
"""Payload that the host's line carries in a run, bytes."""


def scenario(limit, shaper, **more):
    egress = {"rate": "10mbit", "shaper": shaper, "qdisc": {"kind": "pfifo", "limit": limit}}
    return {"path": PATH, "hosts": {"left": {"egress": egress}}, "duration": f"{SECONDS}s", "sample": "1ms", **more}


@pytest.mark.parametrize("shaper", ["tbf", "link"])
def test_a_connection_keeps_two_packets_in_its_hosts_queue(run, shaper):
    found = run(**scenario("100p", shaper))
    assert (found.status, found.reasons) == ("ok", ())
    port = found.counters["port/left-egress"]
    assert port["arrived_packets"] == port["sent_packets"] + port["queued_packets"]
    assert found.counters["flow/cubic"]["rx_bytes"] > 0.97 * CAPACITY
    _, queued = found.series("port/left-egress", "backlog_packets")
    assert queued.max() <= 3
    assert 1.9 < queued.mean() < 2.1
    _, srtt_ms = found.series("flow/cubic", "srtt_ms")
    assert srtt_ms.max() < 40 + 5 * 1.3, "two packets, the line, and what slow start leaves"


def test_a_drop_in_the_hosts_queue_is_not_sent_again(run):
    found = run(**scenario("3p", "tbf", flows=[{"cc": "cubic", "count": 2}]))
    assert found.counters["port/left-egress"]["dropped_overflow"] > 50
    flows = [found.counters[f"flow/cubic-{i}"] for i in (1, 2)]
    assert [flow["retransmits"] for flow in flows] == [0, 0]
    assert sum(flow["rx_bytes"] for flow in flows) > 0.97 * CAPACITY
    # Who finds the queue full by the other's packets reduces its window and does not get it back.
    assert min(np.nanmin(found.series(f"flow/cubic-{i}", "cwnd")[1][4000:]) for i in (1, 2)) == 2
