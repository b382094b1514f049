"""Promises of every engine about codepoints."""

import struct

import pytest
from support import PATH

CAKE = {"rtt": "20ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "cake", "diffserv": "diffserv3"}}}


def codepoints(capture):
    """Return the codepoints of all packets of a pcap file of Ethernet frames with IPv4, and their ECN fields."""
    order = "<" if capture[:4] in (bytes.fromhex("4d3cb2a1"), bytes.fromhex("d4c3b2a1")) else ">"
    at, found = 24, []
    while at < len(capture):
        stored = struct.unpack_from(f"{order}I", capture, at + 8)[0]
        found.append(capture[at + 16 + 14 + 1])
        at += 16 + stored
    return [tos >> 2 for tos in found], [tos & 3 for tos in found]


def test_all_packets_of_a_connection_have_its_codepoint_beside_the_ecn_field(run):
    found = run(flows=[{"cc": "cubic", "dscp": "AF41", "ecn": True}], duration="500ms", capture=True)
    for side in ("left", "right"):
        dscp, ecn = codepoints(found.captures[f"{side}.pcap"])
        assert set(dscp) == {34}
        assert {0, 2} <= set(ecn)


@pytest.mark.parametrize(
    "kind", [{"kind": "ping", "interval": "100ms"}, {"kind": "udp", "interval": "100ms", "reply": True}, {"kind": "voip"}]
)
def test_so_have_all_datagrams_and_what_comes_back(run, kind):
    found = run(flows=[{"cc": "cubic", "dscp": "CS1"}], background=[{**kind, "dscp": "EF"}], duration="500ms", capture=True)
    ends = [codepoints(found.captures[f"{side}.pcap"])[0].count(46) for side in ("left", "right")]
    replies = kind["kind"] != "voip"
    assert min(ends) >= (8 if replies else 20)
    assert set(codepoints(found.captures["left.pcap"])[0]) == {8, 46}


def test_without_one_it_is_zero(run):
    dscp, _ = codepoints(run(duration="300ms", capture=True).captures["left.pcap"])
    assert set(dscp) == {0}


def test_cakes_tins_share_a_full_line(run):
    flows = [{"cc": "cubic", "name": str(dscp), "dscp": dscp} for dscp in ("DF", "CS1", "EF")]
    found = run(path=CAKE, flows=flows, duration="12s")
    read = [found.counters[f"flow/{flow['name']}"]["rx_bytes"] for flow in flows]
    for share, expected in zip((each / sum(read) for each in read), (11 / 16, 1 / 16, 4 / 16), strict=True):
        assert share == pytest.approx(expected, abs=0.04)
    besteffort = {**CAKE["bottleneck"], "qdisc": {"kind": "cake"}}
    found = run(path={**PATH, "bottleneck": besteffort}, flows=flows, duration="12s")
    read = [found.counters[f"flow/{flow['name']}"]["rx_bytes"] for flow in flows]
    assert max(read) < 1.3 * min(read)


def test_each_tin_counts_what_it_does(run):
    qdisc = {"kind": "cake", "diffserv": "diffserv4", "framing": "docsis", "rtt": "regional"}
    flows = [{"cc": "cubic", "name": "df", "ecn": True}, {"cc": "cubic", "name": "ef", "dscp": "EF"}]
    found = run(path={"rtt": "20ms", "bottleneck": {"rate": "20mbit", "qdisc": qdisc}}, flows=flows, duration="6s")
    tins = {row["tin"]: row for row in found.tins.rows() if row["port"] == "bottleneck"}
    assert list(tins) == [f"bottleneck/{name}" for name in ("bulk", "best_effort", "video", "voice")]
    assert [row["threshold_bps"] for row in tins.values()] == [1_250_000, 20_000_000, 10_000_000, 5_000_000]
    # A frame takes 1514 bytes of the tin's rate: 9.69 ms of bulk's, 3/2 of which exceed the target of 1.5 ms.
    assert [row["target_ms"] for row in tins.values()] == pytest.approx([14.534, 1.5, 1.816, 3.633], abs=0.001)
    port = found.counters["port/bottleneck"]
    assert sum(row["arrived_packets"] for row in tins.values()) == port["arrived_packets"]
    assert sum(row["dropped_packets"] for row in tins.values()) == port["dropped_aqm"] + port.get("dropped_blue", 0)
    assert tins["bottleneck/best_effort"]["ce_marks"] == port["ce_marks"] > 0
    assert tins["bottleneck/voice"]["dropped_packets"] > 0 == tins["bottleneck/bulk"]["arrived_packets"]
    assert 0 < tins["bottleneck/voice"]["base_delay_ms"] < tins["bottleneck/voice"]["peak_delay_ms"]


@pytest.mark.parametrize("kind", ["ping", "udp"])
def test_what_is_washed_comes_with_codepoint_0(run, kind):
    qdisc = {"kind": "cake", "diffserv": "diffserv3", "wash": True}
    path = {"rtt": "20ms", "bottleneck": {"rate": "20mbit", "qdisc": qdisc}, "reverse": "none"}
    probes = {"kind": kind, "interval": "100ms", "dscp": "EF"} | ({"reply": True} if kind == "udp" else {})
    found = run(path=path, flows=[{"cc": "cubic", "dscp": "EF", "ecn": True}], background=[probes], duration="1s", capture=True)
    arrived, _ = codepoints(found.captures["right.pcap"])
    sent, _ = codepoints(found.captures["left.pcap"])
    # The answer to an echo request has the codepoint that came, that of the agent its own.
    assert set(arrived) == {0, 46}
    assert set(sent) == ({0, 46} if kind == "ping" else {46})
    voice = next(row for row in found.tins.rows() if row["tin"] == "bottleneck/voice")
    assert voice["arrived_packets"] == found.counters["port/bottleneck"]["arrived_packets"]
