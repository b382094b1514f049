"""What every engine promises about codepoints."""

import struct

import pytest
from support import PATH

CAKE = {"rtt": "20ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "cake", "diffserv": "diffserv3"}}}


def codepoints(capture):
    """Those of all packets of a pcap file of Ethernet frames with IPv4, and their ECN fields."""
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
