"""Promises of every engine about applications over TCP connections that stay open: sources with a rate, pages, streaming."""

import numpy as np
import pytest

ONOFF = {"kind": "onoff", "cc": "cubic", "rate": "2mbit"}
PAGE = {"kind": "page", "cc": "cubic", "direction": "reverse", "size": "12kB", "objects": 12, "think": "500ms"}
STREAMING = {"kind": "streaming", "cc": "cubic", "direction": "reverse", "bitrate": "3mbit", "chunk": "1s", "buffer": "4s"}


def only(found):
    """The row of the only group."""
    (row,) = found.groups.rows()
    return row


def test_a_source_is_limited_by_its_rate_and_its_writes_are_read_soon(run):
    found = run(flows=[], background=[{**ONOFF, "direction": "reverse"}], duration="5s")
    row, (flow,) = only(found), found.flows.rows()
    assert (found.status, row["kind"], row["connections"], row["completed"]) == ("ok", "onoff", 1, 0)
    # A write every 40 ms; the last ones are still under way.
    assert 5 / 0.04 - 2 <= row["transactions"] <= 5 / 0.04 + 1
    assert flow["rx_bytes"] == pytest.approx(10_000 * row["transactions"], abs=10_000)
    t_s, latency_ms = found.series("flow/onoff", "latency_ms")
    # 10 kB on the line but for the packet that the bucket lets through, and half a round trip; the first waits for the handshake.
    assert latency_ms[0] == pytest.approx(20 + 17.2, abs=0.1)
    assert latency_ms[1:] == pytest.approx(17.2, abs=0.1)
    assert np.allclose(t_s - latency_ms / 1e3, np.arange(len(t_s)) * 0.04, atol=1e-6)


def test_a_source_pauses_and_bursts_come_at_once(run):
    sources = [
        {**ONOFF, "name": "talk", "on": "500ms", "off": "1s"},
        {"kind": "onoff", "name": "backup", "cc": "cubic", "burst": "200kB", "off": "2s"},
    ]
    found = run(flows=[], background=sources, duration="5s")
    due = {name: np.subtract(t_s, ms / 1e3) for name in ("talk", "backup") for t_s, ms in [found.series(f"flow/{name}", "latency_ms")]}
    assert np.allclose(due["talk"], [first + i * 0.04 for first in (0, 1.5, 3, 4.5) for i in range(13)][: len(due["talk"])], atol=1e-5)
    assert np.allclose(due["backup"], [0, 2, 4], atol=1e-5)
    assert {row["flow"]: row["rx_bytes"] for row in found.flows.rows()}["backup"] == 600_000


@pytest.mark.parametrize("opens", ["sender", "receiver"])
def test_either_end_of_a_source_opens(run, opens):
    found = run(flows=[], background=[{**ONOFF, "opens": opens}], duration="1s")
    _, latency_ms = found.series("flow/onoff", "latency_ms")
    assert latency_ms[0] == pytest.approx({"sender": 37.2, "receiver": 47.2}[opens], abs=0.2)
    assert latency_ms[5] == pytest.approx(17.2, abs=0.1)


def test_a_page_is_loaded_over_several_connections(run):
    def took_ms(**more):
        found = run(flows=[], background=[{**PAGE, **more}], duration="8s")
        row = only(found)
        assert (found.status, row["connections"], row["completed"], row["transactions"]) == ("ok", len(found.flows), len(found.flows), 4)
        entity = "group/page" if len(found.flows) > 1 else "flow/page"
        t_s, latency_ms = found.series(entity, "latency_ms")
        assert np.diff(t_s) == pytest.approx(latency_ms[1:] / 1e3 + 0.5, abs=1e-5)
        assert row["latency_median_ms"] == pytest.approx(np.median(latency_ms), rel=1e-6)
        assert row["rx_bytes"] == 4 * (12 * 12_300 + (60_300 if "first" in more else 0))
        return float(np.median(latency_ms))

    one, six, first = took_ms(connections=1, pages=4), took_ms(pages=4), took_ms(pages=4, first="60kB")
    # 12 objects take 119 ms on the line: one after the other each needs a round trip as well.
    assert 12 * 28 < one < 12 * 30
    assert 119 + 20 < six < 200
    assert six + 48 + 20 < first < six + 140


def test_browsers_are_clients_of_their_own(run):
    found = run(flows=[], background=[{**PAGE, "clients": 2, "connections": 2, "pages": 2, "start": {"every": "300ms"}}], duration="6s")
    assert found.flows.names == ["page-1", "page-2", "page-3", "page-4"]
    assert found.flows.column("start_ns") == [0, 0, 300_000_000, 300_000_000]
    row = only(found)
    assert (row["connections"], row["completed"], row["transactions"]) == (4, 4, 4)
    t_s, _ = found.series("group/page", "latency_ms")
    assert np.all(np.diff(t_s) >= 0)


def test_a_player_fills_its_buffer_and_goes_on_as_it_plays(run):
    found = run(flows=[], background=[STREAMING], duration="12s")
    row, (flow,) = only(found), found.flows.rows()
    assert (found.status, row["stalls"], row["stalled_ms"], flow["stalls"]) == ("ok", 0, 0, 0)
    # 375 kB on the line, two round trips of handshake and request, and slow start.
    assert 340 < flow["startup_ms"] == row["startup_mean_ms"] < 480
    t_s, latency_ms = found.series("flow/streaming", "latency_ms")
    assert len(t_s) == row["transactions"] == pytest.approx(4 + 11.6, abs=1)
    asked_s = t_s - latency_ms / 1e3
    assert np.diff(asked_s)[5:] == pytest.approx(1, abs=0.01)
    t_s, buffered = found.series("flow/streaming", "buffer_s")
    assert np.diff(t_s) == pytest.approx(t_s[1] - t_s[0])
    assert 3.5 < buffered.max() <= 4
    assert buffered[t_s > 5].min() > 2.5


def test_a_player_stalls_where_the_link_is_too_slow(run):
    found = run(flows=[], background=[{**STREAMING, "bitrate": "16mbit", "start_at": "2s", "connections": 1}], duration="12s")
    row = only(found)
    # 2 s of playing take 3.4 s to come, again and again; the first time that is the start-up delay.
    assert row["startup_mean_ms"] == pytest.approx(3430, abs=120)
    # A third chunk comes in time, the fourth and fifth at 6.9 and 8.6 s; the second stall lasts to the end.
    assert row["stalls"] == 2
    assert row["stalled_ms"] == pytest.approx(8580 - 6430 + 12_000 - 11_580, abs=150)


def test_a_player_closes_after_the_last_chunk(run):
    found = run(flows=[], background=[{**STREAMING, "chunks": 3, "connections": 2, "start": {"every": "100ms"}}], duration="8s")
    row = only(found)
    assert (row["completed"], row["transactions"], row["stalls"]) == (2, 6, 0)
    assert all(each["end_ns"] == each["completed_ns"] < 4 * 10**9 for each in found.flows.rows())


def test_the_server_may_open_an_exchange(run):
    exchange = {"kind": "exchange", "cc": "cubic", "request": "300B", "response": "3kB", "think": "50ms", "opens": "server", "count": 5}
    found = run(flows=[], background=[exchange], duration="3s")
    (flow,) = found.flows.rows()
    assert (only(found)["transactions"], flow["rx_bytes"]) == (5, 5 * 3300)
    t_s, latency_ms = found.series("flow/exchange", "latency_ms")
    assert t_s[0] - latency_ms[0] / 1e3 == pytest.approx(0.03, abs=1e-3), "half a round trip after the handshake"


@pytest.mark.parametrize("size", [None, "200kB"])
def test_a_flow_may_be_opened_by_its_receiver(run, size):
    sized = {} if size is None else {"bytes": size}
    usual, turned = (run(flows=[{"cc": "cubic", "opens": opens, **sized}], duration="4s", sample="4ms") for opens in ("sender", "receiver"))
    assert turned.status == "ok"
    (before,), (after,) = usual.flows.rows(), turned.flows.rows()
    if size is None:
        assert after["rx_bytes"] == pytest.approx(before["rx_bytes"], rel=0.01)
    else:
        # The receiver's SYN takes half a round trip, the answer to it and the packet that ends the handshake a whole one.
        assert after["completed_ns"] - before["completed_ns"] == pytest.approx(10e6, abs=1e5)
    t_s, cwnd = turned.series("flow/cubic", "cwnd")
    # The handshake ends 30 ms after the start, in the kernel some microseconds later. No sample falls on this instant.
    assert (t_s[0], cwnd[0]) == (0.032, 10)
    if size is None:
        assert (t_s[-1], cwnd[-1] > 0) == (4, True), "the flow has a sample at its end"


def test_applications_are_stopped_and_begin_later_and_share_a_link(run):
    late = {"start": {"first": "1s"}, "duration": "2s"}
    found = run(
        background=[{**ONOFF, **late}, {**PAGE, **late}, {**STREAMING, **late, "bitrate": "500kbit", "direction": "both"}], duration="5s"
    )
    assert (found.status, found.reasons) == ("ok", ())
    assert [row["group"] for row in found.groups.rows()] == ["onoff", "page", "streaming", "streaming-reverse"]
    for row in found.flows.rows():
        if row["flow"] != "cubic":
            assert (row["start_ns"], row["end_ns"], "completed_ns" in row) == (10**9, 3 * 10**9, False)
            assert row["rx_bytes"] > 0
    for entity in ("flow/onoff", "group/page", "flow/streaming", "flow/streaming-reverse"):
        t_s, _ = found.series(entity, "latency_ms")
        assert 1 < t_s[0] <= t_s[-1] <= 3
