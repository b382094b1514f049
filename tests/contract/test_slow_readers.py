"""Promises of every engine about applications that read at a rate, and about probes of the windows that they close."""

import pytest

from dumbbell.results import limit_notes, limited_shares

PATH = {"rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}}


def slow(run, reads, duration="6s", **more):
    found = run(path=PATH, flows=[{"cc": "cubic", "host": {"reads": reads, "rcvbuf": "40kB"}, **more}], duration=duration)
    return found, found.flows.rows()[0]


def test_a_slow_reader_reads_its_rate_and_the_receive_window_limits_the_flow(run):
    found, row = slow(run, "2mbit")
    # The first turn is 10 ms after the start, the first data a round trip and a half.
    assert row["rx_bytes"] == pytest.approx(250_000 * (6 - 0.06), rel=0.005)
    assert limited_shares(row)["rwnd"] > 0.8
    assert [note.rpartition(": ")[2] for note in limit_notes(found)] == ["host.reads"]
    assert (found.status, row["retransmits"]) == ("ok", 0)


def test_a_window_that_stays_closed_is_probed(run):
    # A segment in 724 ms, which is longer than a retransmission timeout.
    found, row = slow(run, "16kbit", "20s")
    assert row["rx_bytes"] == pytest.approx(2000 * 20, rel=0.01)
    assert (found.status, row["retransmits"]) == ("ok", 0)


def test_a_transfer_is_complete_when_its_last_byte_is_read(run):
    _, row = slow(run, "1mbit", bytes="200kB")
    assert row["rx_bytes"] == 200_000
    # 1250 bytes a turn; in the first six nothing is there.
    assert row["completed_ns"] / 1e9 == pytest.approx(0.01 * (200_000 / 1250 + 6), abs=0.011)


def test_a_reader_that_is_faster_than_the_path_reads_all(run):
    _, fast = slow(run, "1gbit")
    plain = run(path=PATH, flows=[{"cc": "cubic", "host": {"rcvbuf": "40kB"}}], duration="6s").flows.rows()[0]
    assert 0.5 < fast["rx_bytes"] / plain["rx_bytes"] <= 1.001
