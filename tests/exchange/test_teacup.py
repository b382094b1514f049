"""TEACUP's names of experiments, both ways, and the logs of web10g that it has of Linux hosts."""

import gzip

import pytest

from dumbbell.errors import BadInput
from dumbbell.exchange.imported import runs_of
from dumbbell.exchange.teacup_names import coordinates, experiment
from tests.exchange.test_import import GOLDEN


def test_a_trial_of_the_report_has_its_name_and_the_name_is_read_again():
    cell = {"cc": "newreno", "rtt_ms": 20.0, "qdisc": "fq_codel", "limit_packets": 180.0, "seed": 2}
    name = experiment("experiment", cell, "0123456789")
    assert name == "20200101-000000_experiment_tcp_newreno_del_10_aqm_fq-codel_bs_180_key_0123456789_run_1"
    again = coordinates(f"{name}_newtcp20_siftr.log.gz", "siftr")
    assert again == {"tcp": "newreno", "del": 10, "aqm": "fq-codel", "bs": 180, "key": 123456789, "repeat": 1}


def test_a_name_of_the_report_is_read():
    name = "20140529-072924_experiment_tcp_newreno_del_10_loss_0_down_10mbit_up_10mbit_aqm_pfifo_bs_180_run_0"
    assert coordinates(f"{name}_newtcp1_web10g.log.gz", "web10g") == {
        "tcp": "newreno",
        "del": 10,
        "loss": 0,
        "down": "10mbit",
        "up": "10mbit",
        "aqm": "pfifo",
        "bs": 180,
        "repeat": 0,
    }
    assert coordinates("iperf.log", "web10g") == {}


def test_web10g_gives_windows_in_packets_and_rtts_in_ms():
    (run,) = runs_of([GOLDEN / "web10g.log"], None)
    flow = "flow/172.16.10.2:45432-172.16.11.2:5001"
    assert list(run.series(flow, "cwnd")[1]) == [10, 20, 15]
    assert list(run.series(flow, "srtt_ms")[1]) == [20, 21, 25]
    assert list(run.series(flow, "rtt_ms")[1]) == [20, 24, 30]
    assert list(run.series(flow, "ssthresh")[1]) == [15]
    assert list(run.series(flow, "cwnd")[0]) == pytest.approx([0, 0.1, 0.3], abs=1e-6)
    (row,) = run.flows.rows()
    assert row["cc"] == "unknown"
    assert any("2 lines are skipped" in reason for reason in run.reasons)


def test_a_log_without_names_of_its_own_is_read_where_teacup_looks(tmp_path):
    """The first line has 128 columns, of which one is named: version 2.0.9."""
    head = ["Timestamp", *(f"v{i}" for i in range(2, 26)), "CurCwnd", *(f"v{i}" for i in range(27, 129))]
    row = ["100.5", "7", "1.1.1.1", "1", "2.2.2.2", "2"] + ["0"] * 122
    row[22], row[25], row[46] = "33", "14480", "44"
    file = tmp_path / "20140529-072924_experiment_tcp_cubic_run_1_newtcp1_web10g.log.gz"
    file.write_bytes(gzip.compress(f"{','.join(head)}\n{','.join(row)}\n".encode()))
    (run,) = runs_of([file], None)
    flow = "flow/1.1.1.1:1-2.2.2.2:2"
    assert [list(run.series(flow, name)[1]) for name in ("cwnd", "srtt_ms", "rtt_ms")] == [[10], [33], [44]]
    assert run.cell == {"file": file.name, "tcp": "cubic", "repeat": 1}
    assert any("segments of 1448 bytes" in reason for reason in run.reasons)


def test_what_is_no_log_of_web10g_is_one_line(tmp_path):
    (tmp_path / "bad.log").write_text("Timestamp,a,b\n1,2,3\n")
    with pytest.raises(BadInput, match=r"line 1: has 3 names without CurCwnd; expected the names of web10g-logger's variables"):
        runs_of([tmp_path / "bad.log"], "web10g")
