"""`dumbbell analyze` on captures of the simulator and on files that are no captures."""

import csv
import gzip
import json
import shutil
import struct
import subprocess
from dataclasses import replace

import polars as pl
import pytest
from support import PATH

from dumbbell.errors import BadInput
from dumbbell.running.prepare import compute
from dumbbell.scenario import Scenario
from dumbbell.trace import FACTS, analyze, flow_rtt, packet_pairs, packets, pairs_between

HEADER = struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 1)


@pytest.fixture(scope="module")
def run():
    settings = {"name": "s", "path": PATH, "flows": [{"cc": "cubic", "count": 2}], "duration": "5s", "capture": True}
    (resolved,) = Scenario.model_validate({**settings, "background": [{"kind": "udp", "rate": "100kbit"}]}).expand()
    return compute(resolved, on="sim")


@pytest.fixture
def files(run, tmp_path):
    for name, content in run.captures.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path / "left.pcap", tmp_path / "right.pcap"


def test_one_capture(dumbbell, files):
    answer = dumbbell("analyze", files[0], "--json")
    assert answer.status == 0
    document = json.loads(answer.out)
    assert [(row["client"], row["direction"]) for row in document["connections"]][:2] == [
        ("10.1.0.1:10000", "forward"),
        ("10.1.0.1:10000", "reverse"),
    ]
    assert document["other_packets"] == 42  # datagrams of 1514 bytes at 100 kbit/s, the first at 0 s
    assert "rtt" not in document


def test_two_captures_in_either_order(dumbbell, files, tmp_path):
    answer = dumbbell("analyze", "--pair", *files, "--csv", tmp_path / "rtt.csv", "--json")
    assert answer.status == 0
    found = json.loads(answer.out)["rtt"]
    assert [row["source"] for row in found] == ["10.1.0.1:10000", "10.1.0.1:10001"]
    assert all(20 <= row["p5_ms"] < row["p50_ms"] < row["p95_ms"] < 145 for row in found)
    with (tmp_path / "rtt.csv").open() as file:
        assert sum(1 for _ in csv.DictReader(file)) == sum(row["samples"] for row in found)
    assert json.loads(dumbbell("analyze", "--pair", *reversed(files), "--json").out)["rtt"] == found


def test_without_json_tables_are_printed(dumbbell, files):
    answer = dumbbell("analyze", "--pair", *files)
    assert answer.status == 0
    assert "packet pairs" in answer.out
    assert "10.1.0.1:10001" in answer.out
    assert all(len(line) <= 120 for line in answer.out.splitlines())


def test_the_same_run_gives_the_same_bytes(run):
    settings = {**run.scenario, "name": "s"}
    (resolved,) = Scenario.model_validate(settings).expand()
    assert compute(resolved, on="sim").captures == run.captures


def test_capturing_does_not_change_the_result(run):
    settings = {**run.scenario, "name": "s", "capture": False}
    (resolved,) = Scenario.model_validate(settings).expand()
    plain = compute(resolved, on="sim")
    assert (plain.captures, plain.digest) == ({}, run.digest)


def bad_arguments(files, tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("these are no packets, only words that somebody wrote\n")
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(HEADER)
    others = tmp_path / "others.pcap"
    others.write_bytes(files[1].read_bytes().replace(bytes([10, 2, 0, 2]), bytes([10, 3, 0, 2])))
    return {
        "no file": ((tmp_path / "none.pcap",), "none.pcap: cannot be read (No such file or directory); expected a packet capture"),
        "a folder": ((tmp_path,), "cannot be read (Is a directory)"),
        "a text file": ((text,), "notes.txt: is no packet capture (pcap or pcapng)"),
        "no packets": ((empty,), "empty.pcap: has no TCP among its 0 packets; expected TCP over IP"),
        "no packets on the right": (("--pair", files[0], empty), "empty.pcap: has no TCP among its 0 packets; expected TCP over IP"),
        "nothing in common": (("--pair", files[0], others), "no TCP connection with data is in both"),
        "the same point": (
            ("--pair", files[0], files[0]),
            "show every packet at the same time; expected two points with a path between them",
        ),
        "samples of one capture": ((files[0], "--csv", tmp_path / "x.csv"), "--csv: RTT samples need two capture points"),
        "two files": (files, f"2 files: expected `dumbbell analyze --pair {files[0]} {files[1]}` for two points of one path, or --each"),
        "three files": ((*files, files[0]), "3 files: expected --each for captures on their own"),
        "a pair of one": (("--pair", files[0]), "--pair: 1 files; expected two, LEFT.pcap RIGHT.pcap"),
        "a pair of each": (("--pair", "--each", *files), "--pair and --each exclude each other; expected one of them"),
        "no such connection": (
            ("--plot", tmp_path / "figures", "--connection", "3", files[0]),
            f"--connection 3: {files[0]} has 2 connections; expected 1 to 2",
        ),
        "two of a name": (
            ("--each", "--out", tmp_path / "o", files[0], files[0]),
            "--each: files of one name would be written to one folder; expected different names, or no --out and --plot",
        ),
        "no window": (("--window", "0", files[0]), "--window 0: expected a time above 0 s"),
    }


@pytest.mark.parametrize(
    "kind",
    [
        "no file",
        "a folder",
        "a text file",
        "no packets",
        "no packets on the right",
        "nothing in common",
        "the same point",
        "samples of one capture",
        "two files",
        "three files",
        "a pair of one",
        "a pair of each",
        "no such connection",
        "two of a name",
        "no window",
    ],
)
def test_bad_input_is_reported_in_one_line(dumbbell, files, tmp_path, kind):
    arguments, line = bad_arguments(files, tmp_path)[kind]
    answer = dumbbell("analyze", *arguments)
    assert (answer.status, answer.out) == (2, "")
    assert line in answer.err
    assert answer.err.count("\n") == 1


def test_a_truncated_capture_is_read_up_to_the_cut(dumbbell, files, tmp_path):
    cut = tmp_path / "cut.pcap"
    content = files[0].read_bytes()[:-7]
    cut.write_bytes(content)
    for arguments in ((cut,), ("--pair", files[1], cut)):
        answer = dumbbell("analyze", *arguments)
        assert answer.status == 0
        assert answer.err == f"{cut}: ends within a packet, after {len(content)} bytes; what comes before it counts\n"


def test_what_comes_before_damage_is_shown(dumbbell, files, tmp_path):
    whole = files[0].read_bytes()
    damaged = tmp_path / "damaged.pcap"
    damaged.write_bytes(whole + struct.pack("<IIII", 0, 0, 1 << 31, 1) + bytes(100))
    expected = json.loads(dumbbell("analyze", files[0], "--json").out)
    for arguments in ((damaged,), ("--pair", damaged, files[1])):
        answer = dumbbell("analyze", *arguments, "--json")
        assert answer.status == 2
        packets = expected["captures"][0]["tcp_packets"]
        line = f"{damaged}: is damaged at byte {len(whole)}: a packet of 2147483648 bytes; the {packets} TCP packets before that count\n"
        assert answer.err == line
        assert json.loads(answer.out)["connections"] == expected["connections"]


@pytest.mark.parametrize("pack", [gzip.compress, lambda content: gzip.compress(content[:900]) + gzip.compress(content[900:])])
def test_packed_files_are_read_as_they_are(files, tmp_path, pack):
    content = files[0].read_bytes()
    packed = tmp_path / "packed"
    packed.write_bytes(pack(content))
    assert analyze(packed).connections.equals(analyze(content).connections)
    cut = pack(content)[:-20_000]
    found = analyze(cut)
    assert 0 < found.tally.cut_short < len(content)
    assert 0 < found.tally.tcp_packets < analyze(content).tally.tcp_packets
    middle = len(packed.read_bytes()) // 2
    damaged = packed.read_bytes()[:middle] + bytes(200) + packed.read_bytes()[middle + 200 :]
    tally = analyze(damaged).tally
    assert tally.tcp_packets > 0
    assert tally.damage is not None or tally.cut_short is not None


def zstandard(content):
    """A Zstandard frame of blocks that are stored as they are (RFC 8878, section 3.1.1)."""
    most = 1 << 17
    blocks = [content[at : at + most] for at in range(0, len(content), most)]
    heads = [struct.pack("<I", len(block) << 3 | (at == len(blocks) - 1))[:3] for at, block in enumerate(blocks)]
    frame = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(content))
    return frame + b"".join(part for pair in zip(heads, blocks, strict=True) for part in pair)


def test_files_packed_by_zstd_are_read(files):
    content = files[0].read_bytes()
    packed = zstandard(content[:1000]) + zstandard(content[1000:])
    assert analyze(packed).connections.equals(analyze(content).connections)
    tally = analyze(packed[:-150_000]).tally
    assert 0 < tally.tcp_packets < analyze(content).tally.tcp_packets
    assert tally.damage is not None or tally.cut_short is not None


@pytest.mark.skipif(shutil.which("zstd") is None, reason="zstd is not installed")
def test_what_zstd_packs_is_read(files):
    content = files[0].read_bytes()
    packed = subprocess.run(["zstd", "-c"], input=content, capture_output=True, check=True).stdout
    assert analyze(packed).connections.equals(analyze(content).connections)


def test_the_long_table_has_every_fact_and_what_held_it_back(dumbbell, files):
    answer = dumbbell("analyze", "--long", files[0])
    assert answer.status == 0
    lines = [line.split("  ")[0] for line in answer.out.splitlines()]
    assert [(fact.label, lines.count(fact.label)) for fact in FACTS] == [(fact.label, 2) for fact in FACTS]
    assert answer.out.count("a to b  congestion ") == 2
    assert answer.out.count("b to a  no data were sent") == 2


def test_each_of_several_captures_is_shown(dumbbell, files, tmp_path):
    answer = dumbbell("analyze", "--each", *files, "--out", tmp_path / "out")
    assert answer.status == 0
    assert [line for line in answer.out.splitlines() if line.endswith(".pcap")] == [str(file) for file in files]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["left.pcap", "right.pcap"]


def test_parquet_files_and_figures(dumbbell, files, tmp_path):
    answer = dumbbell(
        "analyze", files[0], "--out", tmp_path / "out", "--plot", tmp_path / "figures", "--connection", "2", "--window", "0.5"
    )
    assert answer.status == 0
    connections = pl.read_parquet(tmp_path / "out" / "connections.parquet")
    assert connections.equals(analyze(files[0]).connections)
    rows = pl.read_parquet(tmp_path / "out" / "packets-*.parquet")
    assert len(rows) == sum(connections["packets"])
    rates = pl.read_parquet(tmp_path / "out" / "throughput.parquet")
    assert (sum(rates["bytes"]), sum(rates["new_bytes"])) == (sum(connections["bytes"]), sum(connections["unique_bytes"]))
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == ["connection-2.png", "connection-2.svg"]


def test_packets_add_up_to_the_facts(files):
    facts = analyze(files[0]).connections.filter(pl.col("direction") == "forward")
    for number, row in enumerate(facts.iter_rows(named=True)):
        rows = packets(files[0], number)
        data = rows.filter(~pl.col("reverse") & (pl.col("payload") > 0))
        assert data["payload"].sum() == row["bytes"]
        assert data["again_bytes"].sum() == row["retransmitted_bytes"]
        assert data["outstanding_bytes"].max() == row["outstanding_max_bytes"]
        rtts_ms = rows.filter(pl.col("reverse"))["rtt_ms"].drop_nulls()
        assert (len(rtts_ms), rtts_ms.min(), rtts_ms.max()) == (row["rtt_samples"], row["rtt_min_ms"], row["rtt_max_ms"])
        assert row["rtt_median_ms"] == pytest.approx(rtts_ms.median(), rel=0.01)


def test_losses_between_the_points_are_the_queues(run, files):
    ways = pairs_between(*files).ways
    forward = ways.filter(pl.col("source").str.starts_with("10.1.0.1"))
    dropped = run.counters["port/bottleneck"]["dropped_overflow"]
    # Drops after the last packet that both points have are not told from packets on their way.
    assert dropped - 5 <= forward["lost"].sum() <= dropped
    assert forward["delay_min_ms"].to_list() == pytest.approx([10, 10], abs=1.3)
    back = ways.filter(pl.col("source").str.starts_with("10.2"))
    assert (back["lost"].sum(), back["added"].sum()) == (0, 0)


def test_python_functions_give_what_the_command_gives(run, files):
    assert analyze(files[0]).connections.equals(analyze(run.captures["left.pcap"]).connections)
    pairs = packet_pairs(*files)
    own = flow_rtt(run)
    assert sum(len(rtt_ms) for _, rtt_ms in own.values()) == len(pairs)


def test_a_run_without_captures_is_refused(run):
    without_captures = replace(run, captures={})
    with pytest.raises(BadInput, match="has no captures of its hosts; expected `capture: true` in its scenario"):
        flow_rtt(without_captures)


def test_captures_are_stored_in_the_folder_of_their_run(dumbbell, tmp_path):
    scenario = tmp_path / "s.yaml"
    scenario.write_text(
        "name: s\npath: {rtt: 20ms, bottleneck: {rate: 1mbit, qdisc: {kind: pfifo, limit: 9p}}}\n"
        "flows: [{cc: reno}]\nduration: 2s\ncapture: true\n"
    )
    assert dumbbell("run", scenario, "--out", tmp_path / "out").status == 0
    (folder,) = {path.parent for path in (tmp_path / "out").glob("*/*.pcap")}
    assert sorted(path.name for path in folder.glob("*.pcap")) == ["left.pcap", "right.pcap"]
    assert dumbbell("analyze", "--pair", folder / "left.pcap", folder / "right.pcap").status == 0
    shutil.rmtree(folder)


def test_the_facts_are_those_of_the_native_module(files):
    row = next(analyze(files[0]).rows())
    assert list(row)[4 : 4 + len(FACTS)] == [fact.name for fact in FACTS]
