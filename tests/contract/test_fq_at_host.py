"""fq as a host's own queue paces what the host sends, on every engine."""

import numpy as np
import pytest

PATH = {"rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}}
HOSTS = {"left": {"egress": {"rate": "1gbit", "qdisc": {"kind": "fq"}}}}


@pytest.mark.parametrize(("flow", "mbit"), [({"cc": "cubic", "host": {"max_pacing_rate": "8mbit"}}, 8), ({"cc": "bbr"}, 18.6)])
def test_segments_of_a_paced_sender_wait_in_its_hosts_fq(run, flow, mbit):
    found = run(path=PATH, hosts=HOSTS, flows=[flow], duration="3s", sample="10ms")
    row = found.flows.rows()[0]
    assert row["rx_bytes"] * 8 / 1e6 == pytest.approx(mbit * (3 - 0.15), rel=0.05)
    # Sent when TCP's own timer says so, a packet would be gone in 12 us.
    backlog = np.array(found.series("port/left-egress", "backlog_packets")[1])
    assert np.mean(backlog[50:] > 0) > 0.5


def test_fq_paces_every_bulk_flow_of_its_host(run):
    found = run(path=PATH, hosts=HOSTS, flows=[{"cc": "cubic"}], duration="4s", sample="10ms")
    assert found.flows.rows()[0]["rx_bytes"] * 8 / 1e6 == pytest.approx(4 * 19.13, rel=0.05)
    backlog = np.array(found.series("port/left-egress", "backlog_packets")[1])
    assert 0.1 < np.mean(backlog[20:] > 0) < 0.6, "at 120 % of the window a round trip, one of two packets that an ACK lets go waits"


def test_acks_pass_segments_that_wait_for_their_time(run):
    """A segment each 12 ms leaves the host that acknowledges the others; an ACK waits 3 ms for the second segment."""
    flows = [
        {"cc": "cubic", "name": "a", "host": {"max_pacing_rate": "4mbit"}},
        {"cc": "cubic", "name": "b", "host": {"max_pacing_rate": "1mbit"}, "direction": "reverse"},
    ]
    found = run(path=PATH, hosts=HOSTS | {"right": HOSTS["left"]}, flows=flows, duration="3s", sample="20ms")
    assert max(np.array(found.series("flow/a", "srtt_ms")[1])[25:]) < 45
