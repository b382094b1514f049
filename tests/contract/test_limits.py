"""What every engine says about what limited a flow."""

import pytest

from dumbbell.results import limit_notes, limited_shares

PATH = {"rtt": "60ms", "bottleneck": {"rate": "50mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}}


@pytest.mark.parametrize(
    ("host", "limit", "note"),
    [
        ({}, "cwnd", None),
        ({"sndbuf": "60kB"}, "sndbuf", "the send buffer for {} % of the time: host.sndbuf"),
        ({"wmem": ["4KiB", "16KiB", "64KiB"]}, "sndbuf", "the send buffer for {} % of the time: host.wmem"),
        ({"rcvbuf": "60kB"}, "rwnd", "the receive window for {} % of the time: host.rcvbuf"),
        ({"rmem": ["4KiB", "64KiB", "64KiB"]}, "rwnd", "the receive window for {} % of the time: host.rmem"),
    ],
    ids=["network", "sndbuf", "wmem", "rcvbuf", "rmem"],
)
def test_what_limits_a_flow_is_told(run, host, limit, note):
    found = run(path=PATH, flows=[{"cc": "cubic", "host": host}], duration="5s")
    (row,) = found.flows.rows()
    shares = limited_shares(row)
    assert shares[limit] > 0.75
    assert sum(shares.values()) == pytest.approx(1, abs=0.002)
    # connect() takes a round trip, in which there is nothing to send.
    assert row["app_limited_ms"] == pytest.approx(60, abs=2)
    expected = [] if note is None else [f"flow/cubic: limited by {note.format(round(100 * shares[limit]))}"]
    assert list(limit_notes(found)) == expected


def test_an_application_that_thinks_limits_the_server(run):
    exchange = {"kind": "exchange", "cc": "cubic", "request": "2kB", "response": "20kB", "think": "300ms"}
    found = run(path=PATH, flows=[], background=[exchange], duration="5s")
    (row,) = found.flows.rows()
    assert limited_shares(row)["app"] == pytest.approx(360 / 480, abs=0.1)
    assert list(limit_notes(found)) == []
