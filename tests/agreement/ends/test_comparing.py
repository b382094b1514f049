"""The first difference between two ends, and its class."""

import pytest

from dumbbell.agreement.ends.comparing import difference, shown

CASE = {"seed": 1, "number": 2, "kind": "both", "cc": "reno", "actions": [{"at_ns": 1_000_000, "do": "write", "bytes": 5}]}
PACKET = {
    "at_ns": 2_000_000,
    "is": "packet",
    "flags": 0x10,
    "seq": 1,
    "ack": 1,
    "payload": 0,
    "window": 500,
    "tsval": 2,
    "tsecr": 1,
    "ecn": 0,
}
INFO = {"at_ns": 2_000_000, "is": "info", "ca_state": 3, "cwnd": 10, "ssthresh": 5, "srtt_us": 100, "rttvar_us": 50, "rto_us": 200_000}
INFO |= {"reordering": 3, "unacked": 0, "sacked": 0, "lost": 0, "retrans": 0, "busy_us": 0, "rwnd_limited_us": 0, "sndbuf_limited_us": 0}


def packet(**changed):
    """A packet of an end."""
    return {**PACKET, "sacks": [], **changed}


@pytest.mark.parametrize(
    ("kernel", "sim", "name"),
    [
        ([packet()], [packet(at_ns=2_005_000)], None),
        ([packet()], [packet(at_ns=2_005_001)], "time of an ACK"),
        ([packet(payload=9)], [packet(payload=8)], "payload of data"),
        ([INFO, packet(at_ns=3_000_000, payload=9)], [INFO, packet(at_ns=3_000_000, payload=8)], "payload of data in recovery"),
        ([packet(), packet(sacks=[[5, 9]])], [packet()], "an ACK with SACK blocks only of linux"),
        ([packet()], [packet(), packet(flags=0x11)], "a FIN only of the simulator"),
        ([packet(sacks=[[5, 9], [1, 2]])], [packet(sacks=[[1, 2], [5, 9]])], "sacks of an ACK with SACK blocks"),
        ([packet(sacks=[[0, 1]])], [packet()], "sacks of an ACK with a D-SACK"),
        ([packet(flags=2)], [packet(flags=0xC2)], "flags of a SYN"),
        ([INFO], [{**INFO, "cwnd": 9}], "cwnd in recovery"),
        ([INFO], [{**INFO, "sndbuf_limited_us": 9}], None),
        # One write: two busy intervals at most, with that of closing; no packet has begun an interval of the receiver's window.
        ([INFO], [{**INFO, "busy_us": 2000, "rwnd_limited_us": 1000}], None),
        ([INFO], [{**INFO, "busy_us": 2001}], "busy_us in recovery"),
        ([INFO], [{**INFO, "rwnd_limited_us": 1001}], "rwnd_limited_us in recovery"),
        ([INFO], [{**INFO, "cwnd": 9, "srtt_us": 0}], None),
        # A difference without consequence is only reported if there is no other.
        ([packet(), packet(seq=2)], [packet(window=9, flags=0x18), packet(seq=3)], "seq of an ACK"),
        ([packet(), packet()], [packet(flags=0x18), packet(window=9)], "only window of an ACK"),
        ([packet()], [packet(flags=0x18)], "only PSH of an ACK"),
    ],
)
def test_the_first_difference_has_a_class(kernel, sim, name):
    found = difference(CASE, kernel, sim)
    assert (found and found.name) == name


def test_an_end_that_only_sends_has_no_window():
    assert difference({**CASE, "kind": "send"}, [packet()], [packet(window=1)]) is None


def test_a_difference_is_shown_with_what_came_before():
    kernel, sim = [INFO, packet(at_ns=3_000_000, payload=9, ecn=2)], [INFO]
    found = difference(CASE, kernel, sim)
    text = "\n".join(shown(CASE, found, kernel, sim))
    assert text.startswith("seed 1, case 2 (both, reno): data only of linux in recovery, at 3.000 ms\n")
    assert "write 5" in text
    assert "> linux            3.000 .    seq 1+9 ack 1 win 500 ts 2 1 ecn 2\n" in text
    assert "> simulator nothing\n            before:        2.000 ca_state 3 cwnd 10" in text
