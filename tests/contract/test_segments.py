"""Promises of every engine about sizes of segments."""

import pytest
from support import PATH

from dumbbell.trace import analyze

JUMBO = {**PATH, "mtu": 9000, "bottleneck": {"rate": "20mbit", "shaper": "htb", "qdisc": {"kind": "pfifo", "limit": "30p"}}}


@pytest.mark.parametrize(("path", "mss", "payload"), [(JUMBO, None, 8948), (JUMBO, 4000, 3988), (PATH, 536, 524)])
def test_full_segments_have_the_size_that_path_and_connection_allow(run, path, mss, payload):
    found = run(path=path, flows=[{"cc": "cubic", "mss": mss}], duration="3s", capture=True)
    assert found.status == "ok"
    data = analyze(found.captures["right.pcap"]).connections.row(0, named=True)
    assert data["bytes"] / data["data_packets"] == pytest.approx(payload, rel=0.01)
    port = found.counters["port/bottleneck"]
    assert port["sent_bytes"] / port["sent_packets"] == pytest.approx(payload + 66, rel=0.01)


def test_a_first_flight_holds_what_the_first_window_offers(run):
    """Ten segments, but no more of 8948 bytes than the SYN-ACK's 64 KiB hold."""
    for path, mss, first in ((JUMBO, None, 7), (JUMBO, 1460, 10), (PATH, 536, 10)):
        slow = {**path, "rtt": "400ms"}
        found = run(path=slow, flows=[{"cc": "cubic", "mss": mss}], duration="700ms", sample="10ms")
        times, inflight = found.series("flow/cubic", "inflight")
        assert inflight[(times > 0.5) & (times < 0.7)].max() == first
