"""Rates at the bottleneck: those of the tables of flows and ports for a whole run, and of their series for a window."""

import numpy as np
import pytest

import dumbbell as api
from dumbbell.results import Store, capacity
from dumbbell.results.bottleneck import BOTTLENECK_METRICS, bottleneck_metrics
from dumbbell.results.summary import summarise_window
from dumbbell.results.windowed import Window
from dumbbell.running.execute import execute
from dumbbell.running.prepare import compute, prepare
from dumbbell.scenario import Scenario

PATH = {"rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "codel", "ecn": True}}}
FLOWS = [{"cc": "cubic", "ecn": True}, {"cc": "reno"}]


def scenario(**more):
    return Scenario(name="s", path=PATH, flows=FLOWS, duration="10s", **more)


def test_they_are_those_of_the_tables():
    (resolved,) = scenario().expand()
    run = compute(resolved)
    found = bottleneck_metrics(run, Window())
    (port,) = (row for row in run.ports.rows() if row["port"] == "bottleneck")
    dropped = port["dropped_overflow"] + port["dropped_aqm"]
    assert found["loss_rate"] == pytest.approx(dropped / (dropped + port["sent_packets"]), rel=1e-3)
    assert found["mark_rate"] == pytest.approx(port["ce_marks"] / port["sent_packets"], rel=1e-3)
    assert found["bottleneck_mbit"] == pytest.approx(port["sent_bytes"] * 8 / 10 / 1e6, rel=1e-2)
    # Frames of 1,514 bytes on a link that counts them whole.
    assert found["utilisation"] == pytest.approx(found["bottleneck_mbit"] / 20, rel=1e-2)
    again, delivered = (sum(row[name] for row in run.flows.rows()) for name in ("retransmits", "delivered"))
    assert found["retransmission_rate"] == pytest.approx(again / (again + delivered), rel=1e-2)
    _, waited = run.series("port/bottleneck", "sojourn_ms")
    assert found["queue_delay_p99_ms"] == pytest.approx(float(np.percentile(waited, 99)))
    assert found["queue_delay_mean_ms"] <= found["queue_delay_p95_ms"] <= found["queue_delay_p99_ms"]


def test_a_window_has_its_own(tmp_path, dumbbell):
    execute(prepare(scenario().runs()), Store(tmp_path / "r"))
    (run,) = api.load(tmp_path / "r")
    late = bottleneck_metrics(run, Window(5, 9))
    t_s, drops = run.series("port/bottleneck", "drops")
    _, sent = run.series("port/bottleneck", "sent_packets")
    lost, passed = (np.interp(9, t_s, each) - np.interp(5, t_s, each) for each in (drops, sent))
    assert late["loss_rate"] == pytest.approx(lost / (lost + passed))
    columns = [word for name in BOTTLENECK_METRICS for word in ("--y", name)]
    answer = dumbbell("table", tmp_path / "r", "--runs", "--statistic", "mean", "--json", "--from", "5s", "--until", "9s", *columns)
    assert answer.status == 0
    table = api.table(tmp_path / "r", per="run", y=BOTTLENECK_METRICS, from_=5, until=9)
    (row,) = table.records()
    for name in BOTTLENECK_METRICS:
        assert row[name] == pytest.approx(late[name]), name


def test_the_utilisation_of_a_summary_counts_as_the_rate_does():
    """The rate of dummynet counts IP packets."""
    path = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "dummynet", "limit": "64KiB"}}}
    (found,) = Scenario.model_validate({"name": "s", "path": path, "flows": [{"cc": "cubic"}], "duration": "20s"}).expand()
    run = compute(found)
    share = run.summary.ports["bottleneck"]["utilisation"]
    assert 0.95 < share <= 1
    assert share == pytest.approx(capacity.utilisation(run), abs=0.01)


def test_a_window_of_a_run_without_tcp_is_that_of_its_queues():
    path = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "100p"}}}
    traffic = [{"kind": "udp", "rate": "20mbit", "start": "5s"}]
    (found,) = Scenario.model_validate({"name": "s", "path": path, "background": traffic, "duration": "10s"}).expand()
    run = compute(found)
    before, after = (summarise_window(run, Window(*ends)).ports["bottleneck"]["utilisation"] for ends in ((0, 4), (6, 10)))
    assert (before, after) == (0, pytest.approx(1, abs=0.01))
