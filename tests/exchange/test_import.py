"""Files of other tools as runs: what the tools themselves say of them, and that every command takes such runs."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from dumbbell import load
from dumbbell.exchange.imported import runs_of

from . import flent_program
from .conftest import BOTTLENECK, stored

SS_BACK = "".join(f"{t_s}\nESTAB 0 0 1.1.1.1:1 2.2.2.2:2\n\t cubic cwnd:10 bytes_acked:100\n" for t_s in (10, 8.5, 11))
"""Polls with a clock that was set back."""
GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(path for path in GOLDEN.iterdir() if path.suffix != ".md")


def read(name):
    """The one run of a file."""
    (run,) = runs_of([GOLDEN / name], None)
    return run


def document(name):
    content = (GOLDEN / name).read_bytes()
    return json.loads(gzip.decompress(content) if name.endswith(".gz") else content)


def test_golden_files_are_small():
    assert max(path.stat().st_size for path in FILES) < 20_000


@pytest.mark.parametrize("file", [path.name for path in FILES if path.name.startswith("flent-")])
def test_pings_of_flent_files_are_what_flent_makes_of_them(file):
    run, theirs = read(file), flent_program.statistics(GOLDEN / file)
    pings = [name for name in theirs if name.startswith("Ping") and name != "Ping (ms) avg"]
    assert sorted(run.summary.datagrams) == sorted(pings)
    for name in pings:
        ours = run.summary.datagrams[name]
        assert {"median": ours["rtt_median_ms"], "pct99": ours["rtt_p99_ms"]} == pytest.approx(
            {each: theirs[name][each] for each in ("median", "pct99")}, rel=1e-9
        )


@pytest.mark.parametrize("file", [path.name for path in FILES if path.name.startswith("flent-")])
def test_streams_of_flent_files_received_what_their_records_say(file):
    run, raw = read(file), document(file)["raw_values"]
    streams = [name for name in raw if name.startswith("TCP") and raw[name]]
    assert streams == run.flows.connections or sorted(streams) == sorted(run.flows.connections)
    for name in streams:
        records = [record for record in raw[name] if "val" in record]
        row = next(row for row in run.flows.rows() if row["flow"] == name)
        assert row["rx_bytes"] == pytest.approx(sum(record["val"] * record["dur"] for record in records) * 1e6 / 8, abs=1)
        life_s = records[-1]["t"] - records[0]["t"] + records[0]["dur"]
        assert run.summary.flows[name]["flow_goodput_mbit"] == pytest.approx(row["rx_bytes"] * 8 / life_s / 1e6, rel=1e-6)
        windows = [record["tcp_cwnd"] for record in raw[name] if "tcp_cwnd" in record]
        assert list(run.series(f"flow/{name}", "cwnd")[1]) == windows


def test_flent_files_say_what_flows_are():
    run = read("flent-2.3.0-tcp_nup.flent.gz")
    meta = document("flent-2.3.0-tcp_nup.flent.gz")["metadata"]["SERIES_META"]["TCP upload::1"]
    row = run.flows.rows()[[row["flow"] for row in run.flows.rows()].index("TCP upload::1")]
    assert (row["cc"], row["retransmits"]) == (meta["CONG_CONTROL"], int(meta["TCP_RETRANSMIT"]))
    directions = {flow["flow"]: flow["direction"] for flow in read("flent-1.0.1-rrul_be.flent.gz").scenario["flows"]}
    assert directions["TCP upload BE"] == "forward"
    assert directions["TCP download BE"] == "reverse"


def test_version_2_of_flents_format_is_read_as_version_3(tmp_path):
    content = document("flent-1.0.1-rrul_be.flent.gz")
    (tmp_path / "older.json").write_text(json.dumps(content | {"version": 2}))
    assert runs_of([tmp_path / "older.json"], None)[0].digest == read("flent-1.0.1-rrul_be.flent.gz").digest


def test_statistics_that_flent_gathers_of_machines_are_named_and_not_read(tmp_path):
    content = document("flent-2.3.0-tcp_nup.flent.gz")
    content["results"]["cpu_stats_here::load"] = [1.0] * len(content["x_values"])
    content["raw_values"]["cpu_stats_here"] = [{"t": 1.0, "load": 1.0}]
    (tmp_path / "more.json").write_text(json.dumps(content))
    (run,) = runs_of([tmp_path / "more.json"], None)
    assert "not read: cpu_stats_here" in run.reasons
    assert run.digest == read("flent-2.3.0-tcp_nup.flent.gz").digest


def test_a_run_that_flent_has_seen_comes_back_with_the_same_metrics(dumbbell, probed, tmp_path):
    assert dumbbell("export", probed, "--format", "flent", "--out", tmp_path).status == 0
    (file,) = tmp_path.iterdir()
    assert dumbbell("import", file, "--out", tmp_path / "back").status == 0
    before, after = load(probed)[0].summary, load(tmp_path / "back")[0].summary
    for ours, theirs in zip(before.flows.values(), after.flows.values(), strict=True):
        for name in ("flow_goodput_mbit", "srtt_mean_ms", "srtt_p95_ms", "cwnd_mean_packets", "retransmits"):
            assert theirs[name] == pytest.approx(ours[name], rel=1e-6)
    pings = (before.datagrams["pinger"], after.datagrams["Ping (ms) ICMP"])
    for name in ("rtt_mean_ms", "rtt_p99_ms"):
        assert pings[1][name] == pytest.approx(pings[0][name], rel=1e-6)
    assert after.run["jain_index"] == pytest.approx(before.run["jain_index"], rel=1e-6)
    assert np.isnan(after.run["drops"])


@pytest.mark.parametrize("file", ["iperf3-3.12.json", "iperf3-3.12-reverse.json", "iperf3-3.21-bidir.json"])
def test_streams_of_iperf3_add_up_to_what_it_says_in_the_end(file):
    run, said = read(file), document(file)["end"]["streams"]
    rows = {row["flow"]: row for row in run.flows.rows()}
    for i, stream in enumerate(said, 1):
        row, sends = rows[f"tcp-{i}"], stream["sender"]["sender"]
        assert row["rx_bytes"] == stream["receiver"]["bytes"]
        t_s, received = run.series(f"flow/tcp-{i}", "rx_bytes")
        assert received[-1] == stream["sender" if sends else "receiver"]["bytes"]
        assert t_s[-1] == pytest.approx(stream["sender"]["seconds"], abs=0.02)
        if sends:
            assert row["retransmits"] == stream["sender"]["retransmits"]
            assert run.series(f"flow/tcp-{i}", "srtt_ms")[1].max() == pytest.approx(stream["sender"]["max_rtt"] / 1e3)
            assert run.series(f"flow/tcp-{i}", "cwnd")[1].max() == pytest.approx(stream["sender"]["max_snd_cwnd"] / 1448)


def test_the_lines_of_iperf3_are_a_document():
    run = read("iperf3-3.21-stream.json")
    end = json.loads((GOLDEN / "iperf3-3.21-stream.json").read_text().splitlines()[-1])["data"]
    assert run.flows.rows()[0]["rx_bytes"] == end["streams"][0]["receiver"]["bytes"]
    assert any("omitted" in reason for reason in run.reasons)
    assert run.series("flow/tcp-1", "rx_bytes")[0][-1] == pytest.approx(2, abs=0.1)


def test_several_documents_of_iperf3_with_text_between_them_are_several_runs(tmp_path):
    text = (GOLDEN / "iperf3-3.12.json").read_text()
    (tmp_path / "two.json").write_text(f"started\n{text}\nagain\n{text}")
    runs = runs_of([tmp_path / "two.json"], "iperf3")
    assert [run.cell["run"] for run in runs] == [1, 2]
    assert runs[0].digest == runs[1].digest
    assert runs[0].key != runs[1].key


def test_datagrams_of_iperf3_have_jitter_and_loss():
    row, said = read("iperf3-3.12-udp.json").flows.rows()[0], document("iperf3-3.12-udp.json")["end"]["streams"][0]["udp"]
    assert (row["sent_packets"], row["lost_packets"]) == (said["packets"], said["lost_packets"])
    assert row["jitter_ms"] > 0


def test_irtt_measured_what_it_says():
    run, said = read("irtt-0.9.0.json.gz"), document("irtt-0.9.0.json.gz")["stats"]
    row = run.flows.rows()[0]
    for prefix, theirs in (("rtt", "rtt"), ("owd", "send_delay"), ("owd_back", "receive_delay")):
        assert row[f"{prefix}_mean_ms"] == pytest.approx(said[theirs]["mean"] / 1e6, rel=1e-5)
        assert row[f"{prefix}_median_ms"] == pytest.approx(said[theirs]["median"] / 1e6, rel=1e-5)
    assert row["sent_packets"] == said["packets_sent"]


@pytest.mark.parametrize("file", ["ss-6.1.txt", "ss-6.1-oneline.txt"])
def test_polls_of_ss_are_samples(file):
    run, text = read(file), (GOLDEN / file).read_text()
    found = run.all_series("cwnd", "srtt_ms", "rx_bytes", "inflight")
    for flow in run.flows.connections:
        local, _, peer = flow.partition("-")
        windows = re.findall(rf"{local}\s+{peer}\s.*?cwnd:(\d+)", text, re.DOTALL)
        assert list(found[f"flow/{flow}", "cwnd"][1]) == [float(each) for each in windows]
    busiest = max(run.flows.rows(), key=lambda row: row["rx_bytes"])
    assert busiest["cc"] == "bbr"
    assert 5 < run.summary.flows[busiest["flow"]]["flow_goodput_mbit"] < 21
    acked = [int(word.removeprefix("bytes_acked:")) for word in text.split() if word.startswith("bytes_acked:")]
    assert found[f"flow/{busiest['flow']}", "rx_bytes"][1].max() == max(acked)


@pytest.mark.parametrize(("file", "streams"), [("ss-6.1.txt", 2), ("ss-6.1-oneline.txt", 1), ("ss-6.1-both-ends.txt", 2)])
def test_the_connection_by_which_iperf3_talks_to_itself_is_no_flow(file, streams):
    run = read(file)
    assert len(run.flows.connections) == streams
    assert any(re.search(r"not read, as connections .*: \S+:5\d01 \(\d+ bytes\)$", reason) for reason in run.reasons)


def test_a_connection_whose_ends_are_both_polled_is_one_flow():
    run, text = read("ss-6.1-both-ends.txt"), (GOLDEN / "ss-6.1-both-ends.txt").read_text()
    for flow in run.flows.connections:
        sender, _, receiver = flow.partition("-")
        assert re.fullmatch(r"127\.0\.0\.1:\d+-127\.0\.0\.1:5301", flow)
        windows = re.findall(rf" {sender}\s+{receiver} .*?cwnd:(\d+)", text, re.DOTALL)
        assert list(run.series(f"flow/{flow}", "cwnd")[1]) == [float(each) for each in windows]
        back, mapped = (end.replace(":", ".:") for end in (sender, receiver))
        received = re.findall(rf"f:{mapped}\s+\S+f:{back}\s.*?bytes_received:(\d+)", text, re.DOTALL)
        assert list(run.series(f"flow/{flow}", "rx_bytes")[1]) == [float(each) for each in received]
        assert 15 < run.summary.flows[flow]["flow_goodput_mbit"] < 25
    assert {flow["direction"] for flow in run.scenario["flows"]} == {"forward"}
    assert run.summary.run["jain_index"] > 0.99


def test_a_starved_flow_stays(tmp_path):
    """It carried little, but had more to send."""
    poll = "Time: {0}\nESTAB 0 0 1.1.1.1:1 2.2.2.2:2\n\t cubic cwnd:10 bytes_acked:{1} {2}\n"
    poll += "ESTAB 0 0 1.1.1.1:3 2.2.2.2:2\n\t cubic cwnd:1 bytes_acked:{3} {4}\n"
    for limited, count in (("", 2), ("app_limited", 1)):
        (tmp_path / "polls").write_text(poll.format(1, 0, "", 0, limited) + poll.format(2, 10_000_000, "", 1448, limited))
        (run,) = runs_of([tmp_path / "polls"], None)
        assert len(run.flows.connections) == count


def test_a_starved_download_stays(tmp_path):
    """Who receives is always limited by its application, which sends nothing."""
    poll = "Time: {0}\nESTAB 0 0 1.1.1.1:1 2.2.2.2:2\n\t cubic cwnd:10 bytes_received:{1} app_limited\n"
    poll += "ESTAB 0 0 1.1.1.1:3 2.2.2.2:2\n\t cubic cwnd:10 bytes_received:{2} app_limited\n"
    (tmp_path / "polls").write_text(poll.format(1, 0, 0) + poll.format(2, 10_000_000, 1448))
    (run,) = runs_of([tmp_path / "polls"], None)
    assert len(run.flows.connections) == 2


def test_siftr_gives_windows_in_packets_and_rtts_in_ms():
    run = read("siftr-1.2.log")
    assert list(run.series("flow/172.16.7.28:22-172.16.2.5:55931", "cwnd")[1]) == [10, 11, 12, 13, 14]
    assert list(run.series("flow/172.16.7.28:22-172.16.2.5:55931", "srtt_ms")[1]) == [20, 21, 22, 23, 24]
    assert list(run.series("flow/172.16.7.28:22-172.16.2.5:55931", "ssthresh")[1]) == [20, 20]
    assert run.series("flow/172.16.7.28:22-172.16.2.5:55931", "cwnd")[0][0] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("name", "content", "before_s"),
    [
        ("early.log", None, 0.000954),
        ("early.csv", "t_s,entity,series,value\n-0.5,flow/a,cwnd,1\n1.5,flow/a,cwnd,2\n-1.5,port/b,drops,0\n", 1.5),
        ("early.txt", SS_BACK, 1.5),
    ],
    ids=["a packet before siftr was enabled", "CSV with times below zero", "a clock that goes back"],
)
def test_times_before_the_beginning_of_a_file_are_moved_and_that_is_said(dumbbell, tmp_path, name, content, before_s):
    if content is None:
        content = (GOLDEN / "siftr-1.2.log").read_text().replace("o,0x00000000,1685191807.600000,", "o,0x00000000,1685191807.499046,")
    (tmp_path / name).write_text(content)
    answer = dumbbell("import", tmp_path / name, "--out", tmp_path / "runs")
    assert answer.status == 0
    assert f"times are {before_s:g} s later than in the file" in answer.err
    (run,) = load(tmp_path / "runs")
    assert min(run.frame["t_ns"]) == 0
    assert all(0 <= row["start_ns"] <= row["end_ns"] for row in run.flows.rows())
    assert dumbbell("table", tmp_path / "runs").status == 0


def test_a_log_of_siftr_that_teacup_named_has_its_coordinates_and_the_last_rtt_in_ms(tmp_path):
    lines = (GOLDEN / "siftr-1.2.log").read_text().replace(",0,2896,0,0,0\n", ",0,2896,0,21\n")
    file = tmp_path / "exp_20150506-104000_tcp_newreno_up_1mbps_run_3_newtcp20_siftr.log.gz"
    file.write_bytes(gzip.compress(lines.encode()))
    (run,) = runs_of([file], None)
    assert run.cell == {"file": file.name, "tcp": "newreno", "up": "1mbps", "repeat": 3}
    assert list(run.series("flow/172.16.7.28:22-172.16.2.5:55931", "rtt_ms")[1]) == [21]


def test_mahimahis_log_is_a_queue():
    run = read("mahimahi.log")
    (row,) = run.ports.rows()
    assert row == {"port": "link", "arrived_packets": 4, "sent_packets": 3, "sent_bytes": 3064, "dropped_overflow": 1}
    assert run.summary.run["drops"] == 1
    assert list(run.series("port/link", "sojourn_ms")[1]) == [2, 10, 5]
    assert list(run.series("port/link", "drops")[1]) == [1]
    assert list(run.series("port/link", "backlog_packets")[1]) == [1, 2, 3, 2, 1, 0, 1, 0]


def test_a_log_of_mahimahi_has_every_packet_in_one_of_its_counts():
    run, lines = read("mahimahi-ae477d4.log"), (GOLDEN / "mahimahi-ae477d4.log").read_text().splitlines()
    events = [line.split()[1:] for line in lines if not line.startswith("#")]
    (row,) = run.ports.rows()
    came, dropped = (sum(event[0] == kind for event in events) for kind in "+d")
    left = [event for event in events if event[0] == "-"]
    assert row == {
        "port": "link",
        "arrived_packets": came,
        "sent_packets": len(left),
        "sent_bytes": sum(int(event[1]) for event in left),
        "dropped_overflow": dropped,
    }
    assert dropped > 0
    # The queue held ten packets; mm-link takes the one that is being sent out of it.
    backlog = run.series("port/link", "backlog_packets")[1]
    assert 10 <= backlog.max() <= 12
    assert run.series("port/link", "sojourn_ms")[1].max() < 50
    assert run.summary.run["drops"] == dropped


def test_imports_say_what_is_not_known_and_have_no_numbers_for_it():
    for run in runs_of(FILES, None):
        assert run.status == "warn"
        assert run.reasons[0].startswith("not run here, but read from ")
        assert len(run.reasons) > 2
        assert run.engine["name"] == "import"
        assert run.plan is None
        assert np.isnan(run.summary.run["drops"]) or run.name == "mahimahi-log"


def test_the_table_of_a_queue_without_flows_says_where_it_is_seen(dumbbell, tmp_path):
    assert dumbbell("import", GOLDEN / "mahimahi.log", "--out", tmp_path / "runs").status == 0
    answer = dumbbell("table", tmp_path / "runs")
    assert answer.status == 0
    assert "the runs have no flows; `dumbbell plot` and `dumbbell view` draw the series of their queues" in answer.err


def test_the_key_is_of_the_contents(tmp_path):
    first = read("iperf3-3.12.json")
    (tmp_path / "other-name.json").write_bytes((GOLDEN / "iperf3-3.12.json").read_bytes())
    (tmp_path / "other.json").write_text((GOLDEN / "iperf3-3.12.json").read_text() + "\n")
    same, other = (runs_of([tmp_path / name], None)[0] for name in ("other-name.json", "other.json"))
    assert same.key == first.key
    assert other.key != first.key
    packed = tmp_path / "packed.json.gz"
    packed.write_bytes(gzip.compress((GOLDEN / "iperf3-3.12.json").read_bytes(), mtime=0))
    assert runs_of([packed], None)[0].key == first.key


def test_every_command_takes_imports(dumbbell, tmp_path):
    folder = tmp_path / "imports"
    answer = dumbbell("import", *FILES, "--out", folder, "--json")
    assert answer.status == 0
    assert len(json.loads(answer.out)) == len(FILES)
    table = json.loads(dumbbell("table", folder, "--json").out)
    assert len(table["rows"]) == len([flow for run in load(folder) for flow in run.flows.connections])
    assert len(json.loads(dumbbell("table", folder, "--runs", "--json").out)["rows"]) == len(FILES)
    assert dumbbell("check", folder).status == 0
    figures = [name for name in dumbbell("plot", folder, "--list").out.splitlines() if name.startswith("run-")]
    chosen = (word for name in figures for word in ("--figure", name))
    assert dumbbell("plot", folder, "--out", tmp_path / "figures", *chosen).status == 0
    assert len(list((tmp_path / "figures").glob("*.png"))) == len(FILES)
    again = dumbbell("import", *FILES, "--out", folder)
    assert again.status == 0
    assert len(load(folder)) == len(FILES)
    answer = dumbbell("import", *FILES, "--out", folder, "--format", "flent")
    assert answer.status == 2


def test_an_import_can_be_exported_again(dumbbell, tmp_path):
    assert dumbbell("import", GOLDEN / "iperf3-3.12.json", "--out", tmp_path / "runs").status == 0
    assert dumbbell("export", tmp_path / "runs", "--format", "flent", "--out", tmp_path / "flent").status == 0
    (file,) = (tmp_path / "flent").iterdir()
    found, run = flent_program.statistics(file), load(tmp_path / "runs")[0]
    assert found["TCP upload::1"]["mean"] == pytest.approx(run.summary.flows["tcp-1"]["flow_goodput_mbit"])


def test_imports_lie_beside_runs_from_here(dumbbell, tmp_path):
    stored(tmp_path / "runs", duration="2s")
    assert dumbbell("import", GOLDEN / "iperf3-3.12.json", "--out", tmp_path / "runs").status == 0
    assert [run.engine["name"] for run in load(tmp_path / "runs")] == ["sim", "import"]


def test_a_damaged_import_is_read_again(dumbbell, tmp_path):
    file, folder = GOLDEN / "iperf3-3.12.json", tmp_path / "runs"
    assert dumbbell("import", file, "--out", folder).status == 0
    (run,) = load(folder)
    (folder / run.key / "series.parquet").write_bytes(b"no series")
    answer = dumbbell("check", "--repair", folder)
    assert answer.status == 1
    assert "it was read from iperf3-3.12.json; expected `dumbbell import` of that file instead" in answer.err
    assert dumbbell("import", file, "--out", folder).status == 0
    assert dumbbell("check", folder).status == 0
    assert load(folder)[0].digest == run.digest


def test_a_measurement_of_a_published_cell_is_compared_with_it(dumbbell, tmp_path):
    cell = ("--cell", "cc=reno", "--cell", "bandwidth_mbit=50", "--cell", "delay_ms=80")
    answer = dumbbell("import", GOLDEN / "iperf3-3.21-stream.json", "--out", tmp_path / "runs", *cell)
    assert answer.status == 0
    (run,) = load(tmp_path / "runs")
    assert run.cell == {"file": "iperf3-3.21-stream.json", "cc": "reno", "bandwidth_mbit": 50, "delay_ms": 80}
    found = json.loads(dumbbell("compare", tmp_path / "runs", "sce", "--json").out)
    assert found["format"] == "sce_one_flow"
    assert str(run.summary.flows["tcp-1"]["flow_goodput_mbit"]) in json.dumps(found)


@pytest.mark.parametrize("cell", ["cc", "=1", "file=x", "c c=1", "cc=", "goodput_mbit=5", "flow=a", "runs=3", "rtt_mean_ms=1"])
def test_a_coordinate_that_is_none_is_refused(dumbbell, tmp_path, cell):
    answer = dumbbell("import", GOLDEN / "iperf3-3.12.json", "--out", tmp_path / "runs", "--cell", cell)
    assert answer.status == 2
    assert answer.err.startswith(f"--cell {cell!r}: ")
    assert not (tmp_path / "runs").exists()


def test_no_scenario_can_ask_for_the_engine(dumbbell, tmp_path):
    scenario = {
        "name": "s",
        "path": {"rtt": "20ms", "bottleneck": BOTTLENECK},
        "flows": [{"cc": "cubic"}],
        "duration": "1s",
        "engine": "import",
    }
    (tmp_path / "s.yaml").write_text(json.dumps(scenario))
    answer = dumbbell("run", tmp_path / "s.yaml", "--out", tmp_path / "runs")
    assert answer.status == 2
    assert "'import' is unknown" in answer.err
    assert "import" not in dumbbell("list", "engine").out
