"""Field by field what tcptrace 6.6.7 says: as recorded (tests/record_tcptrace.py), and by the tcptrace of this machine."""

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest
import tcptrace
from record_tcptrace import packets
from tcptrace_faults import Compared

from dumbbell.trace import analyze

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.pcap.gz"))
FULL_SIZE = {name for name in tcptrace.FIELDS if name.startswith("RTT_full_sz")}
"""tcptrace takes a segment of one sequence number for one of 2^32, so that with a SYN its largest segment is the SYN, or a lone FIN."""
WITHOUT_SYN = {"midway", "from-zero", "old-acks", "late-data"}
BOUNDARY = {"segs_cum_acked", "RTT_min_(last)", "RTT_avg_(last)", "RTT_max_(last)", "ambiguous_acks"}
"""tcptrace cuts a segment across a multiple of 2^30 in two, and gives no RTT for one that ends there."""
FAULTS = {
    # It counts the options that were cut as payload that was.
    "cut": {"truncated_data"},
    # It takes a minimum of 0 for none, and the next greater.
    "doubled": {"min_retr_time"},
    "losses-receiver": {"RTT_min"},
    # It compares SACK blocks without regard to the wrap, and takes all of them for reports of what was received twice.
    "wrapping": {"segs_cum_acked", "dsack_pkts_sent"},
    "unscaled": BOUNDARY,
    # RFC 7323 has 14 as the most.
    "shift-15": {"max_win_adv", "min_win_adv", "avg_win_adv"},
    # It forgets the scale of the SYN, and takes the RTT of the data for that of the SYN.
    "late-answer": {"adv_wind_scale", "max_win_adv", "min_win_adv", "avg_win_adv", "RTT_from_3WHS"},
    # It compares the number of a SYN with those of a window that it has not seen, 0.
    "late-syn": {"connections"},
    # It asks for two SYNs of another number before it takes one for that of another connection.
    "reused-ports": {"connections"},
    # It takes a SYN that it has not seen for one of number 0; a full segment with a FIN is larger than the others.
    "from-zero": {"initial_window_bytes", "initial_window_pkts", "RTT_full_sz_smpls"},
    # It counts duplicates of less than the highest ACK, where the capture has a hole.
    "old-acks": {"duplicate_acks", "triple_dupacks"},
}
"""Capture -> what tcptrace gets wrong there (docs/analyze.md)."""


def name_of(path):
    return path.name.removesuffix(".pcap.gz")


def differing(path, output):
    """The fields that differ, and how."""
    found = tcptrace.differences(output, tcptrace.by_ends(analyze(path).rows()))
    # Without a SYN that gave an RTT the full-size samples are right.
    return {each[2]: each for each in found if name_of(path) in WITHOUT_SYN or each[2] not in FULL_SIZE}


def test_there_are_captures_of_both_engines():
    names = {name_of(path) for path in RECORDED}
    assert names > {"losses", "losses-receiver", "kernel", "kernel-receiver", "midway", "closed-window", "version-6"} | set(FAULTS)


@pytest.mark.parametrize("path", RECORDED, ids=name_of)
def test_every_field_is_as_recorded(path):
    found = differing(path, path.with_name(f"{name_of(path)}.csv").read_text())
    assert set(found) == FAULTS.get(name_of(path), set()), found


def test_full_size_samples_are_those_of_full_segments():
    (losses,) = (path for path in RECORDED if name_of(path) == "losses")
    theirs = [fields for *_, fields in tcptrace.directions(losses.with_name("losses.csv").read_text())]
    rows = list(analyze(losses).rows())
    assert [fields["RTT_full_sz_smpls"] for fields in theirs] == ["1"] * len(theirs)
    for row in (row for row in rows if row["data_packets"]):
        assert row["rtt_samples"] - 2 <= row["rtt_full_samples"] < row["rtt_samples"]


@pytest.fixture(params=RECORDED, ids=name_of)
def unpacked(request, tmp_path):
    """A recorded capture as tools read it that unpack nothing."""
    path = tmp_path / "capture.pcap"
    path.write_bytes(gzip.decompress(request.param.read_bytes()))
    return request.param, path


@pytest.mark.skipif(shutil.which("tcptrace") is None, reason="tcptrace is not installed")
def test_this_machines_tcptrace_says_what_was_recorded(unpacked):
    path, capture = unpacked
    assert set(differing(path, tcptrace.run(capture))) == FAULTS.get(name_of(path), set())


@pytest.mark.skipif(shutil.which("tcptrace") is None, reason="tcptrace is not installed")
def test_every_difference_is_explained(unpacked):
    _, capture = unpacked
    found = Compared(list(packets(capture.read_bytes()))).faults
    assert all(fault for fault, _ in found), found


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_counts_the_same_packets_marks_and_payload(unpacked):
    _, capture = unpacked
    fields = ("tcp.stream", "tcp.srcport", "tcp.len", "ip.dsfield.ecn", "tcp.flags.push")
    command = [
        "tshark",
        "-r",
        capture,
        "-o",
        "tcp.desegment_tcp_streams:false",
        "-Y",
        "tcp",
        "-T",
        "fields",
        *(f"-e{name}" for name in fields),
    ]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [line.split("\t") for line in lines]
    ours = list(analyze(capture).rows())
    assert sum(row["packets"] for row in ours) == len(rows)
    assert sum(row["bytes"] for row in ours) == sum(int(length) for _, _, length, _, _ in rows)
    assert sum(row["ect1_packets"] for row in ours) == sum(ecn == "1" for _, _, _, ecn, _ in rows)
    assert sum(row["ce_packets"] for row in ours) == sum(ecn == "3" for _, _, _, ecn, _ in rows)
    pushed = sum(int(length) > 0 and push in ("1", "True") for _, _, length, _, push in rows)
    assert sum(row["pushed_packets"] for row in ours) == pushed
