"""`dumbbell analyze` on captures of the simulator and on files that are no captures."""

import csv
import json
import shutil
import struct
from dataclasses import replace

import pytest
from support import PATH

from dumbbell.engines import engine
from dumbbell.errors import BadInput
from dumbbell.scenario import Scenario
from dumbbell.trace import analyze, flow_rtt, packet_pairs

HEADER = struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 1)


@pytest.fixture(scope="module")
def run():
    settings = {"name": "s", "path": PATH, "flows": [{"cc": "cubic", "count": 2}], "duration": "5s", "capture": True}
    (resolved,) = Scenario.model_validate({**settings, "background": [{"kind": "udp", "rate": "100kbit"}]}).expand()
    return engine("sim").run(resolved)


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
    answer = dumbbell("analyze", *files, "--csv", tmp_path / "rtt.csv", "--json")
    assert answer.status == 0
    found = json.loads(answer.out)["rtt"]
    assert [row["source"] for row in found] == ["10.1.0.1:10000", "10.1.0.1:10001"]
    assert all(20 <= row["p5_ms"] < row["p50_ms"] < row["p95_ms"] < 145 for row in found)
    with (tmp_path / "rtt.csv").open() as file:
        assert sum(1 for _ in csv.DictReader(file)) == sum(row["samples"] for row in found)
    assert json.loads(dumbbell("analyze", *reversed(files), "--json").out)["rtt"] == found


def test_without_json_tables_are_printed(dumbbell, files):
    answer = dumbbell("analyze", *files)
    assert answer.status == 0
    assert "packet pairs" in answer.out
    assert "10.1.0.1:10001" in answer.out
    assert all(len(line) <= 120 for line in answer.out.splitlines())


def test_the_same_run_gives_the_same_bytes(run):
    settings = {**run.scenario, "name": "s"}
    (resolved,) = Scenario.model_validate(settings).expand()
    assert engine("sim").run(resolved).captures == run.captures


def test_capturing_does_not_change_the_result(run):
    settings = {**run.scenario, "name": "s", "capture": False}
    (resolved,) = Scenario.model_validate(settings).expand()
    plain = engine("sim").run(resolved)
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
        "no packets on the right": ((files[0], empty), "empty.pcap: has no TCP among its 0 packets; expected TCP over IP"),
        "nothing in common": ((files[0], others), "no TCP connection with data is in both"),
        "the same point": ((files[0], files[0]), "show every packet at the same time; expected two points with a path between them"),
        "samples of one capture": ((files[0], "--csv", tmp_path / "x.csv"), "--csv: RTT samples need two capture points"),
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
    cut.write_bytes(files[0].read_bytes()[:-7])
    for arguments in ((cut,), (files[1], cut)):
        answer = dumbbell("analyze", *arguments)
        assert answer.status == 0
        assert answer.err == f"{cut}: ends within a packet; what comes before it counts\n"


def test_python_functions_give_what_the_command_gives(run, files):
    assert analyze(files[0]).connections.equals(analyze(run.captures["left.pcap"]).connections)
    pairs = packet_pairs(*files)
    own = flow_rtt(run)
    assert sum(len(rtt_ms) for _, rtt_ms in own.values()) == len(pairs)


def test_a_run_without_captures_is_refused(run):
    without_captures = replace(run, captures={})
    with pytest.raises(BadInput, match="has no captures; expected `capture: true` in its scenario"):
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
    assert dumbbell("analyze", folder / "left.pcap", folder / "right.pcap").status == 0
    shutil.rmtree(folder)
