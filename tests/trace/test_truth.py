"""RTTs by packet pairs compared with the true delays: those of the simulator's queues and flows, and those of generated captures."""

import struct

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import PATH

from dumbbell.running.prepare import compute
from dumbbell.scenario import Scenario
from dumbbell.trace import flow_rtt, packet_pairs, packets

FRAME_MS = 1514 * 8 / 10e3
"""Serialisation delay of a full frame at 10 Mbit/s."""


def simulated(**more):
    scenario = Scenario.model_validate({"name": "s", "path": PATH, "flows": [{"cc": "cubic"}], "duration": "20s", **more})
    (resolved,) = scenario.expand()
    return compute(resolved, on="sim")


def latest_at(series, at_s):
    """The latest value at each of the given times: pairs are not evenly spaced, so their own percentiles would be biased."""
    t_s, values = series
    return values[np.searchsorted(t_s, at_s, side="right") - 1]


def path_with(qdisc, shaper="tbf"):
    return {**PATH, "bottleneck": {**PATH["bottleneck"], "shaper": shaper, "qdisc": qdisc}}


@pytest.mark.parametrize(
    "qdisc",
    [{"kind": "pfifo", "limit": "100p"}, {"kind": "pie", "target": "20ms"}, {"kind": "codel"}],
    ids=lambda qdisc: qdisc["kind"],
)
def test_percentiles_are_base_rtt_plus_sojourn_time(qdisc):
    # `link` dequeues a packet when the line is free. A token bucket dequeues one earlier, whose wait is not in the sojourn time.
    run = simulated(path=path_with(qdisc, "link"), sample="1ms", capture=True)
    at_s, sojourn_ms = run.series("port/bottleneck", "sojourn_ms")
    rtt_ms = latest_at(flow_rtt(run)["flow/cubic"], at_s)
    for q in (5, 25, 50, 75, 95):
        truth = 20 + np.percentile(sojourn_ms[at_s > 5], q) + FRAME_MS
        # The backlog changes by one frame at a time and there is a pair for every second packet, so a percentile can be one frame off.
        assert np.percentile(rtt_ms[at_s > 5], q) == pytest.approx(truth, abs=1.01 * FRAME_MS), q


@pytest.mark.parametrize("qdisc", [{"kind": "pfifo", "limit": "100p"}, {"kind": "pie", "target": "20ms"}], ids=lambda qdisc: qdisc["kind"])
def test_the_senders_rtt_includes_the_delay_of_acks(qdisc):
    run = simulated(path=path_with(qdisc), sample="1ms", capture=True)
    at_s, sender_ms = run.series("flow/cubic", "rtt_ms")
    rtt_ms = latest_at(flow_rtt(run)["flow/cubic"], at_s)
    # An ACK covers two segments, and the first of them waits one frame time for the second.
    assert -0.2 * FRAME_MS < np.nanmean(sender_ms[at_s > 5]) - np.nanmean(rtt_ms[at_s > 5]) < 1.2 * FRAME_MS
    # Both take whole frames, so that a percentile of either can be one frame off: one of five with pfifo, whose single flow is periodic.
    percentiles = (5, 25, 50, 75, 95)
    waits_ms = np.percentile(sender_ms[at_s > 5], percentiles) - np.percentile(rtt_ms[at_s > 5], percentiles)
    assert np.all((waits_ms > -0.2 * FRAME_MS) & (waits_ms < 2.2 * FRAME_MS)), waits_ms
    if qdisc["kind"] == "pfifo":
        assert np.sum(waits_ms > 1.2 * FRAME_MS) <= 1, waits_ms


def test_without_delayed_acks_pairs_and_acks_agree():
    stack = {"base": "freebsd-9", "delayed_ack": False}
    flow = {"cc": "reno", "stack": stack, "host": {"sndbuf": "60kB"}, "start": {"first": "100ms"}}
    run = simulated(flows=[flow], capture=True)
    ((_, by_pairs_ms),) = flow_rtt(run).values()
    by_acks_ms = packets(run.captures["left.pcap"], 0).filter(pl.col("reverse"))["rtt_ms"].drop_nulls().to_numpy()
    assert run.counters["flow/reno"]["retransmits"] == 0
    assert np.array_equal(by_pairs_ms, by_acks_ms)
    assert by_acks_ms.max() > 40


def test_lost_acks_do_not_bias_the_rtt():
    back = {"rate": "1mbit", "qdisc": {"kind": "pfifo", "limit": "5p"}, "delay": "10ms"}
    there = {"rate": "100mbit", "qdisc": {"kind": "pfifo", "limit": "60p"}, "delay": "10ms"}
    run = simulated(path={"forward": [there], "reverse": [{"name": "back", **back}]}, capture=True, duration="5s")
    assert run.counters["port/back-reverse"]["dropped_overflow"] > 50
    ((_, rtt_ms),) = flow_rtt(run).values()
    # Upper bound: both queues full, plus the packet being sent. Data frames have 1514 bytes, ACKs with three SACK blocks 94.
    most_ms = 20 + 61 * 1514 * 8 / 100e3 + 6 * 94 * 8 / 1e3
    assert rtt_ms.min() >= 20
    assert rtt_ms.max() <= most_ms


# --- generated captures -------------------------------------------------------------------------------------------------------

LINKS = {"ethernet": 1, "vlan": 1, "raw": 101, "cooked": 113, "cooked2": 276, "loopback": 0}
BEFORE_IP = {
    "ethernet": bytes(12) + b"\x08\x00",
    "vlan": bytes(12) + b"\x81\x00\x00\x05\x08\x00",
    "raw": b"",
    "cooked": bytes(14) + b"\x08\x00",
    "cooked2": b"\x08\x00" + bytes(18),
    "loopback": b"\x02\x00\x00\x00",
}
CLIENT, SERVER = (bytes([192, 0, 2, 1]), 40_000), (bytes([198, 51, 100, 7]), 443)


def tcp(source, destination, number, seq, ack, payload, stamps):
    """An IPv4 packet without its payload, and its full length. The checksums are wrong, as captures with checksum offload show them."""
    options = b"\x01\x01\x08\x0a" + struct.pack(">II", *stamps)
    header = struct.pack(">HHIIBBHHH", source[1], destination[1], seq, ack, 8 << 4, 0x10, 501, 0xDEAD, 0) + options
    length = 20 + len(header) + payload
    return struct.pack(">BBHHHBBH", 0x45, 2, length, number, 0x4000, 64, 6, 0xBEEF) + source[0] + destination[0] + header, length


def pcap(packets, link, order, unit_ns):
    """A capture file; packets are (time in ns, bytes, length) in order of time."""
    magic = {1000: 0xA1B2C3D4, 1: 0xA1B23C4D}[unit_ns]
    parts = [struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, 96, LINKS[link])]
    for time_ns, packet, length in sorted(packets, key=lambda each: each[0]):
        frame = (BEFORE_IP[link] + packet)[:96]
        s, ns = divmod(time_ns, 10**9)
        parts += [struct.pack(order + "IIII", s, ns // unit_ns, len(frame), len(BEFORE_IP[link]) + length), frame]
    return b"".join(parts)


@st.composite
def paths(draw):
    """Captures at both ends of a path whose delays change from packet to packet, and the true RTT of each pair in us."""
    link, far_link = draw(st.sampled_from(sorted(LINKS))), draw(st.sampled_from(sorted(LINKS)))
    order, unit_ns = draw(st.sampled_from("<>")), draw(st.sampled_from([1, 1000]))
    skew_us, seq = draw(st.integers(-(10**7), 10**7)), draw(st.integers(0, 2**32 - 1))
    numbered, base_us = draw(st.booleans()), 10**9
    near, far, truth = [], [], []

    def add(capture, time_us, packet):
        capture.append((time_us * 1000, *packet))

    rounds = draw(
        st.lists(st.tuples(st.integers(1, 50_000), st.integers(1, 50_000), st.integers(0, 40_000), st.integers(0, 3)), min_size=2)
    )
    for i, (there_us, back_us, wait_us, lost) in enumerate(rounds):
        # A data packet, lost up to three times and retransmitted, and its ACK. A round takes less than a second.
        start_us = base_us + i * 10**6
        stamp = (start_us // 1000) % 2**32
        for attempt in range(lost + 1):
            left_us = start_us + 200_000 * attempt
            data = tcp(CLIENT, SERVER, i * 4 + attempt if numbered else 0, seq, 77, 1200, ((left_us // 1000) % 2**32, 5))
            add(near, left_us, data)
        add(far, left_us + there_us + skew_us, data)
        seq = (seq + 1200) % 2**32
        answer = tcp(SERVER, CLIENT, i if numbered else 0, 77, seq, 0, (9, stamp))
        add(far, left_us + there_us + wait_us + 1 + skew_us, answer)
        add(near, left_us + there_us + wait_us + 1 + back_us, answer)
        truth.append(there_us + back_us)
    return pcap(near, link, order, unit_ns), pcap(far, far_link, order, unit_ns), truth


@given(paths())
def test_pairs_measure_the_path_whatever_the_file_format_and_clock_offset(captures):
    near, far, truth = captures
    for files in ((near, far), (far, near)):
        pairs = packet_pairs(*files)
        assert set(pairs["source"]) == {"192.0.2.1:40000"}
        assert np.round(pairs["rtt_ms"].to_numpy() * 1000).astype(int).tolist() == truth
