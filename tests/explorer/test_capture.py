"""Captures as the explorer shows them."""

from pathlib import Path

import numpy as np
import pytest

from dumbbell.explorer.capture import Capture
from dumbbell.trace import analyze, packets

RECORDED = Path(__file__).parent.parent / "trace" / "recorded"


@pytest.fixture(scope="module", params=["losses.pcap.gz", "marks.pcap.gz", "version-6.pcap.gz"])
def file(request):
    return RECORDED / request.param


def test_connections_have_the_facts_of_the_analysis(file):
    capture = Capture(file, file.name)
    index = capture.index()
    rows = analyze(file).connections
    assert len(index["runs"]["facts"]["key"]) == len(rows) // 2
    forward = rows.filter(direction="forward")
    assert index["runs"]["coordinates"]["client"] == forward["client"].to_list()
    assert index["runs"]["facts"]["status"] == ["closed" if closed else "open" for closed in forward["closed"]]
    # A direction without data has none of its own.
    for way, ending in (("forward", "_ms"), ("reverse", "_back_ms")):
        shown = [row["rtt_min_ms"] if row["data_packets"] else None for row in rows.filter(direction=way).to_dicts()]
        assert index["runs"]["metrics"].get(f"rtt_min{ending}", [None] * len(shown)) == shown
    sizes = {key: sum(int(row["bytes"]) for row in pair) for key, pair in capture._connections.items()}
    largest_first = capture.keys()
    assert [sizes[key] for key in largest_first] == sorted(sizes.values(), reverse=True)


def test_titles_of_both_directions_have_units():
    titles = Capture(RECORDED / "midway.pcap.gz", "midway").index()["titles"]
    assert (titles["rtt_min_ms"], titles["rtt_min_back_ms"]) == ("rtt min (ms)", "rtt min back (ms)")
    assert (titles["throughput_back_mbit"], titles["bytes_back"]) == ("throughput back (Mbit/s)", "bytes back")
    assert not any("ms" in title.replace("(ms)", "").split() for title in titles.values())


def test_series_are_made_of_the_packets(file):
    capture = Capture(file, file.name)
    key = capture.keys()[0]
    rows = packets(file, int(key) - 1)
    found = {(entity, name): samples for entity, name, samples in capture.series(key)}
    facts = {row["direction"]: row for row in capture._connections[key]}
    for way in ("forward", "reverse"):
        if not facts[way]["data_packets"]:
            assert not any(entity == f"flow/{way}" for entity, _ in found)
            continue
        start, end = found[f"flow/{way}", "segment_start"][1], found[f"flow/{way}", "segment_end"][1]
        assert (end - start).sum() == facts[way]["bytes"]
        assert np.count_nonzero(found[f"flow/{way}", "segment_again"][1]) <= facts[way]["retransmitted_packets"]
        assert found[f"flow/{way}", "outstanding_bytes"][1].max() == facts[way]["outstanding_max_bytes"]
        assert len(found[f"flow/{way}", "outstanding_bytes"][1]) == len(rows)
    assert {entry["name"] for entry in capture.detail(key)["series"]} >= {"segment_start", "acknowledged", "new_bytes"}


def test_sack_blocks_lie_above_what_is_acknowledged_and_within_what_was_sent():
    file = RECORDED / "losses.pcap.gz"
    rows = packets(file).filter(sack=True, dsack=False)
    assert len(rows) > 20
    assert (rows["sack_start"] > rows["ack"]).all()
    assert (rows["sack_end"] > rows["sack_start"]).all()
    sent = packets(file).filter(reverse=False)
    assert rows["sack_end"].max() <= (sent["start"] + sent["payload"]).max()


def test_unknown_connections_are_no_keys(file):
    capture = Capture(file, file.name)
    for look_up in (capture.detail, capture.captures, lambda key: capture.one_series(key, "flow/forward", "rtt_ms")):
        with pytest.raises(KeyError):
            look_up("999999")
