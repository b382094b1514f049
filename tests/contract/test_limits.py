"""Reports of every engine about the limits of a flow."""

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


def test_the_last_acks_of_a_transfer_do_not_count(run):
    impairments = [{"kind": "outage", "at": "80ms", "for": "3s", "direction": "reverse"}]
    found = run(path={**PATH, "impairments": impairments}, flows=[{"cc": "cubic", "bytes": "14480B"}], duration="10s")
    (row,) = found.flows.rows()
    lived_ms = (row["end_ns"] - row["start_ns"]) / 1e6
    limited_ms = [row[f"{limit}_limited_ms"] for limit in ("cwnd", "rwnd", "sndbuf", "app")]
    assert lived_ms < 110
    assert sum(limited_ms) <= lived_ms + 0.01


def test_a_transfer_that_is_shorter_than_a_tick_is_not_said_to_wait_for_its_application(run):
    path = {"rtt": "100us", "bottleneck": {"rate": "1gbit", "qdisc": {"kind": "pfifo", "limit": "1000p"}}}
    found = run(path=path, flows=[{"cc": "cubic", "bytes": "64KiB"}], duration="100ms")
    (row,) = found.flows.rows()
    assert row["end_ns"] - row["start_ns"] < 1_000_000
    # The simulator counts in microseconds; Linux cannot say.
    share = limited_shares(row)["app"]
    assert share != share or share < 0.3
