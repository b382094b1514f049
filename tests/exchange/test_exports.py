"""Runs as files of tools other than Flent: what those tools, or our readers, find in them."""

import base64
import csv
import io
import json
import re

import numpy as np
import polars as pl
import pytest

from dumbbell import load
from dumbbell.exchange.exported import file_name, writer
from dumbbell.exchange.formats import WRITTEN
from dumbbell.exchange.imported import runs_of

from .conftest import stored


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """A run whose packets were captured before and behind its queue."""
    folder = tmp_path_factory.mktemp("captured")
    stored(folder, capture=["delay", "bottleneck"], duration="4s", background=[])
    return load(folder)[0]


def written(run, form):
    """Files by the end of their names, behind what all begin with."""
    base = file_name(run)
    return {name.removeprefix(base): content for name, content in writer(form)(run, base).files.items()}


def read_back(tmp_path, files):
    for name, content in files.items():
        (tmp_path / f"run{name}").write_bytes(content)
    return runs_of([tmp_path / f"run{name}" for name in files], None)


def test_iperf3_documents_have_what_scripts_read(probed, tmp_path):
    run = load(probed)[0]
    files = written(run, "iperf3")
    document = json.loads(files[".json"])
    ports = {each["socket"]: each["local_port"] for each in document["start"]["connected"]}
    assert ports == {5: 10000, 7: 10001}
    assert len(document["intervals"]) == 20
    for interval in document["intervals"]:
        for stream in interval["streams"]:
            assert {"socket", "start", "end", "seconds", "bytes", "bits_per_second", "retransmits", "snd_cwnd", "rtt"} <= stream.keys()
        assert interval["sum"]["bytes"] == sum(stream["bytes"] for stream in interval["streams"])
    received = sum(row.get("rx_bytes", 0) for row in run.flows.rows())
    assert document["end"]["sum_received"]["bytes"] == pytest.approx(received, abs=40)
    assert document["end"]["sum_received"]["bits_per_second"] / 1e6 == pytest.approx(run.summary.run["goodput_mbit"], rel=1e-6)
    assert document["end"]["streams"][0]["sender"]["mean_rtt"] == pytest.approx(run.summary.flows["cubic"]["srtt_mean_ms"] * 1e3, abs=1)
    assert "not measured by iperf3" in document["extra_data"]
    (back,) = read_back(tmp_path, files)
    for ours, theirs in zip(run.summary.flows.values(), back.summary.flows.values(), strict=True):
        assert theirs["flow_goodput_mbit"] == pytest.approx(ours["flow_goodput_mbit"], rel=1e-5)
        assert theirs["retransmits"] == ours["retransmits"]


def test_iperf3_has_a_document_a_direction(tmp_path):
    flows = [{"cc": "cubic"}, {"cc": "reno", "direction": "reverse", "start": "1500ms", "duration": "2s"}]
    stored(tmp_path / "runs", flows=flows, background=[], duration="5s")
    files = written(load(tmp_path / "runs")[0], "iperf3")
    assert set(files) == {".json", "-reverse.json"}
    back = json.loads(files["-reverse.json"])
    assert back["end"]["sender_tcp_congestion"] == "reno"
    assert back["intervals"][0]["streams"][0]["start"] == pytest.approx(1.5)


def test_long_csv_and_parquet_are_the_series_with_units(probed, tmp_path):
    run = load(probed)[0]
    files = written(run, "csv")
    rows = list(csv.DictReader(io.StringIO(files[".csv"].decode())))
    assert rows[0].keys() == {"key", "t_ns", "entity", "series", "unit", "value", "cc", "direction"}
    assert {row["unit"] for row in rows if row["series"] == "srtt_ms"} == {"ms"}
    assert len(rows) == len(run.frame)
    (back,) = read_back(tmp_path, files)
    for series, (t_s, values) in run.all_series("cwnd", "srtt_ms", "rx_bytes", "backlog_bytes", "owd_ms").items():
        assert np.array_equal(back.series(*series)[0], t_s)
        assert np.array_equal(back.series(*series)[1], values)
    assert back.summary.flows["bbr"]["flow_goodput_mbit"] == pytest.approx(run.summary.flows["bbr"]["flow_goodput_mbit"])
    content = written(run, "parquet")[".parquet"]
    frame = pl.read_parquet(content)
    assert frame.columns == ["key", "t_ns", "entity", "series", "value"]
    assert frame.drop("key").equals(run.frame)
    found = re.search(rb"ARROW:schema.{1,12}?([A-Za-z0-9+/=]{100,})", content, re.DOTALL)
    assert b'"srtt_ms": "ms"' in base64.b64decode(found[1])


def test_long_csv_keeps_controls_and_directions(tmp_path):
    flows = [{"cc": "cubic", "name": "there"}, {"cc": "reno", "name": "back", "direction": "reverse"}]
    stored(tmp_path / "runs", flows=flows, background=[], duration="2s")
    (back,) = read_back(tmp_path, written(load(tmp_path / "runs")[0], "csv"))
    assert {row["flow"]: row["cc"] for row in back.flows.rows()} == {"there": "cubic", "back": "reno"}
    assert {flow["flow"]: flow["direction"] for flow in back.scenario["flows"]} == {"there": "forward", "back": "reverse"}
    (again,) = read_back(tmp_path, written(back, "csv"))
    assert again.scenario["flows"] == back.scenario["flows"]


def test_long_csv_of_groups_and_shares_can_be_read(tmp_path):
    web = {"kind": "transfers", "name": "web", "cc": "cubic", "size": "30kB", "arrivals": {"kind": "regular", "every": "100ms"}}
    series = {"groups": ["web"], "shares": ["bottleneck"]}
    stored(tmp_path / "runs", background=[web], series=series, duration="2s")
    (back,) = read_back(tmp_path, written(load(tmp_path / "runs")[0], "csv"))
    assert any("not read: group/web" in reason for reason in back.reasons)


def test_xplot_files_are_lines_of_known_commands(probed):
    run = load(probed)[0]
    files = written(run, "xpl")
    assert {"-cwnd.xpl", "-srtt_ms.xpl", "-backlog_packets.xpl"} <= set(files)
    lines = files["-cwnd.xpl"].decode().splitlines()
    assert (lines[0], lines[1], lines[3], lines[5], lines[-1]) == ("timeval double", "title", "xlabel", "ylabel", "go")
    number = r"-?\d+(\.\d+)?(e[-+]\d+)?"
    commands = rf"line (\d+\.\d{{6}} {number} ?){{2}}|ltext \d+\.\d{{6}} {number}|green|red|flow/(cubic|bbr)"
    assert all(re.fullmatch(commands, line) for line in lines[7:-1])
    drawn = [line.split() for line in lines if line.startswith("line ")]
    t_s, values = run.series("flow/cubic", "cwnd")
    assert drawn[0][1:] == ["1577836800.000000", f"{values[0]:g}", f"{1577836800 + t_s[1]:.6f}", f"{values[1]:g}"]


def test_teacups_names_have_coordinates_and_ends_of_flows(dumbbell, tmp_path):
    stored(tmp_path / "runs", sweep={"path.bottleneck.qdisc.kind": ["pfifo", "fq_codel"]}, duration="2s")
    assert dumbbell("export", tmp_path / "runs", "--format", "teacup", "--out", tmp_path / "out").status == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    tests = (tmp_path / "out" / "experiments_completed.txt").read_text().splitlines()
    assert len(names) == 2 * 2 * 2 + 1
    assert [re.sub(r"_key_\w{10}", "", test) for test in tests] == [
        f"20200101-000000_probe_aqm_{each}_run_0" for each in ("pfifo", "fq-codel")
    ]
    (window,) = (name for name in names if name.startswith(tests[0]) and name.endswith("_10000_10.2.0.2_5000_siftr.cwnd"))
    rows = [line.split(",") for line in (tmp_path / "out" / window).read_text().splitlines()]
    t_s, packets = load(tmp_path / "runs")[0].series("flow/cubic", "cwnd")
    assert [float(row[0]) - 1577836800 for row in rows] == pytest.approx(list(t_s), abs=1e-6)
    assert [int(row[1]) for row in rows] == list(packets * 1448)


def test_mahimahis_log_has_every_packet_of_the_captures(captured):
    files = written(captured, "mahimahi-log")
    assert set(files) == {"-bottleneck.log", "-bottleneck-reverse.log"}
    lines = files["-bottleneck.log"].decode().splitlines()
    assert "# base timestamp: 0" in lines
    events = [line.split() for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"\d+ (\+ \d+|# 1504|- \d+ \d+)", line) for line in lines if not line.startswith("#"))
    (port,) = (row for row in captured.ports.rows() if row["port"] == "bottleneck")
    counts = {kind: sum(event[1] == kind for event in events) for kind in "+-#"}
    assert counts["+"] == port["arrived_packets"]
    assert port["sent_packets"] - counts["-"] in (0, 1)  # the last may leave after the end
    assert counts["#"] * 1514 * 8 / 4 / 1e6 == pytest.approx(20, rel=1e-3)
    assert max(int(event[2]) for event in events) == 1504
    times = [int(event[0]) for event in events]
    assert times == sorted(times)
    assert all(int(event[0]) - int(event[3]) >= 0 for event in events if event[1] == "-")
    # Delays are whole ms of a queue of at most 67 packets, and of the time on the line.
    delays = [int(event[3]) for event in events if event[1] == "-"]
    assert 0 <= min(delays) <= max(delays) <= 68 * 1514 * 8 / 20e3 + 1


def test_mahimahis_log_needs_captures(dumbbell, probed, tmp_path):
    answer = dumbbell("export", probed, "--format", "mahimahi-log", "--out", tmp_path)
    assert answer.status == 2
    assert "bottleneck lacks port-delay.pcap and port-bottleneck.pcap" in answer.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", sorted(set(WRITTEN) - {"mahimahi-log"}))
def test_the_same_run_gives_the_same_bytes(probed, tmp_path, form):
    if form == "qlog":  # which needs a record of events
        stored(probed := tmp_path / "runs", events="all", duration="1s")
    run = load(probed)[0]
    assert writer(form)(run, "x") == writer(form)(run, "x")
    assert all(name.startswith(("x", "probe", "20200101-000000_probe")) for name in writer(form)(run, "x").files)


def test_a_failed_export_leaves_what_was_there(dumbbell, tmp_path):
    stored(tmp_path / "runs", duration="1s")
    stored(tmp_path / "runs", name="other", series={"flows": "none"}, duration="1s")
    assert len(load(tmp_path / "runs")) == 2
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("kept")
    answer = dumbbell("export", tmp_path / "runs", "--format", "flent", "--out", tmp_path / "out")
    assert answer.status == 2
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]
    assert (tmp_path / "out" / "mine").read_text() == "kept"


def test_a_flow_that_took_no_time_is_left_out_of_iperf3s_documents(dumbbell, tmp_path):
    """And nothing is written of a run that has no other."""
    rows = "".join(f"{t_s},flow/a,rx_bytes,{t_s}\n" for t_s in range(4))
    for name, more in (("both", rows), ("none", "")):
        (tmp_path / f"{name}.csv").write_text(f"t_s,entity,series,value\n1,flow/b,rx_bytes,5\n{more}")
        assert dumbbell("import", tmp_path / f"{name}.csv", "--out", tmp_path / name).status == 0
    answer = dumbbell("export", tmp_path / "both", "--format", "iperf3", "--out", tmp_path / "exported")
    assert answer.status == 0
    assert "without flow b," in answer.err
    (file,) = (tmp_path / "exported").iterdir()
    assert len(json.loads(file.read_text())["end"]["streams"]) == 1
    answer = dumbbell("export", tmp_path / "none", "--format", "iperf3", "--out", tmp_path / "other")
    assert answer.status == 2
    assert "has no TCP flow that took any time" in answer.err
