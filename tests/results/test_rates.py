"""Rates and delays of flows, groups, ports and classes: each number is computed a second time, from the rows of the series themselves."""

import json
import math
import random

import numpy as np
import pytest

import dumbbell as api
from dumbbell import metrics
from dumbbell.results import Store
from dumbbell.results.rates import CLASS_RATES, FLOW_RATES, GROUP_RATES, PORT_RATES, rates
from dumbbell.results.windowed import WHOLE, Window
from dumbbell.running.execute import execute
from dumbbell.running.prepare import compute, prepare
from dumbbell.scenario import Scenario

PATH = {"rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "cake", "diffserv": "diffserv3"}}}
FLOWS = [{"cc": "cubic", "name": "a", "count": 2, "ecn": True}, {"cc": "reno", "name": "b", "start": "1s"}]
SERIES = {"shares": ["bottleneck"], "groups": "all", "state": ["queue"]}


def scenario(**more):
    return Scenario(**{"name": "s", "path": PATH, "flows": FLOWS, "duration": "8s", "sample": "20ms", "series": SERIES, **more})


@pytest.fixture(scope="module")
def run():
    (resolved,) = scenario().expand()
    return compute(resolved)


class Rows:
    """The rows of the long table by entity and series."""

    def __init__(self, run):
        self.found = {}
        for entity, name, t_ns, value in run.frame.select("entity", "series", "t_ns", "value").iter_rows():
            self.found.setdefault((entity, name), []).append((t_ns, value))

    def added(self, entity, name, start_ns, stop_ns):
        """Amount that a total grew by between the last samples before two times."""

        def at(t_ns):
            return next((value for at_ns, value in reversed(self.found[entity, name]) if at_ns <= t_ns), 0.0)

        return at(stop_ns) - at(start_ns)

    def inside(self, entity, name, start_ns, stop_ns):
        return np.array([value for t_ns, value in self.found[entity, name] if start_ns <= t_ns <= stop_ns])


def windows():
    draw = random.Random(43)
    ends = [sorted(draw.sample(range(2000, 8000, 20), 2)) for _ in range(6)]
    return [*ends, [2000, 8000]]


@pytest.mark.parametrize(("start_ms", "stop_ms"), windows())
def test_rates_of_a_window_are_the_sums_over_the_series(run, start_ms, stop_ms):
    rows, window = Rows(run), Window(start_ms / 1e3, stop_ms / 1e3)
    between = start_ms * 10**6, stop_ms * 10**6
    seconds = (stop_ms - start_ms) / 1e3
    of_flows, of_groups = rates(run, "flow", window), rates(run, "group", window)
    assert of_flows.keys() == {"a-1", "a-2", "b"}
    assert of_groups.keys() == {"a", "b"}
    for group, flows in {"a": ["a-1", "a-2"], "b": ["b"], "a-1": ["a-1"]}.items():
        row = of_flows[group] if group == "a-1" else of_groups[group]
        assert row.keys() == set(FLOW_RATES if group == "a-1" else GROUP_RATES)
        delivered, marked, again, received = (
            [rows.added(f"flow/{flow}", name, *between) for flow in flows]
            for name in ("delivered", "delivered_ce", "retransmits", "rx_bytes")
        )
        passed = sum(rows.added(f"share/bottleneck/flow/{flow}", "sent_bytes", *between) for flow in flows)
        waits = np.concatenate([rows.inside(f"flow/{flow}", "srtt_ms", *between) for flow in flows]) - 40
        expected = {
            "bottleneck_mbit": passed * 8 / seconds / 1e6,
            "utilisation": passed * 8 / seconds / 20e6,
            "queue_delay_mean_ms": waits.mean(),
            "queue_delay_p95_ms": np.percentile(waits, 95),
            "queue_delay_p99_ms": np.percentile(waits, 99),
            "mark_rate": sum(marked) / sum(delivered),
            "retransmission_rate": sum(again) / (sum(again) + sum(delivered)),
        }
        for name, value in expected.items():
            assert row[name] == pytest.approx(value), (group, name)
        assert math.isnan(row["loss_rate"])
        if group in of_groups:
            assert row["jain"] == pytest.approx(metrics.jain(received))
    sent, drops, marks, moved = (
        rows.added("port/bottleneck", name, *between) for name in ("sent_packets", "drops", "ce_marks", "sent_bytes")
    )
    waited = rows.inside("port/bottleneck", "sojourn_ms", *between)
    port = rates(run, "port", window)["bottleneck"]
    assert port.keys() == set(PORT_RATES)
    assert port["bottleneck_mbit"] == pytest.approx(moved * 8 / seconds / 1e6)
    assert (port["drops"], port["ce_marks"]) == (drops, marks)
    assert port["loss_rate"] == pytest.approx(drops / (sent + drops))
    assert port["mark_rate"] == pytest.approx(marks / sent)
    assert port["queue_delay_p99_ms"] == pytest.approx(np.percentile(waited, 99))
    assert port["utilisation"] == pytest.approx(moved * 8 / seconds / 20e6)
    assert port["queue_delay_mean_ms"] == pytest.approx(waited.mean())
    assert port["queue_delay_p95_ms"] == pytest.approx(np.percentile(waited, 95))
    tin = rates(run, "class", window)["bottleneck/best_effort"]
    assert tin.keys() == set(CLASS_RATES)
    arrived, dropped = (rows.added("tin/bottleneck/best_effort", name, *between) for name in ("arrived_packets", "dropped_packets"))
    assert (tin["arrived_packets"], tin["dropped_packets"]) == (arrived, dropped)
    assert tin["loss_rate"] == pytest.approx(dropped / arrived)
    ticked = rows.added("tin/bottleneck/best_effort", "ce_marks", *between)
    assert tin["ce_marks"] == ticked
    assert tin["mark_rate"] == pytest.approx(ticked / arrived)


def test_the_whole_run_is_that_of_the_tables(run):
    flows = {row["flow"]: row for row in run.flows.rows()}
    found = rates(run, "flow", WHOLE)
    for name, row in flows.items():
        assert found[name]["loss_rate"] == row["dropped_packets"] / row["sent_packets"]
    (tin,) = (row for row in run.tins.rows() if row["tin"] == "bottleneck/best_effort")
    assert rates(run, "class", WHOLE)["bottleneck/best_effort"]["ce_marks"] == tin["ce_marks"]


def test_the_series_of_a_group_is_the_sum_of_those_of_its_flows(run):
    rows = Rows(run)
    for name in ("delivered", "delivered_ce", "retransmits", "rx_bytes"):
        together = rows.found["group/a", name]
        for t_ns, value in together[50::50]:
            assert value == sum(rows.added(f"flow/{flow}", name, -1, t_ns) for flow in ("a-1", "a-2")), (name, t_ns)


def test_what_a_run_does_not_tell_is_unknown():
    (resolved,) = scenario(series={}).expand()
    plain = compute(resolved)
    row = rates(plain, "flow", Window(2, 6))["b"]
    assert math.isnan(row["bottleneck_mbit"])
    assert math.isnan(row["utilisation"])
    assert row["mark_rate"] == 0
    assert math.isnan(rates(plain, "class", Window(2, 6))["bottleneck/best_effort"]["arrived_packets"])


def test_tables_have_them(tmp_path, dumbbell):
    execute(prepare(scenario(repeat=2, flows=[{**FLOWS[0], "start": {"jitter": "1s"}}, FLOWS[1]]).runs()), Store(tmp_path / "r"))
    for option, per, key, shown in (
        ("--ports", "port", "bottleneck", "queue_delay_p99_ms"),
        ("--classes", "class", "bottleneck/best_effort", "loss_rate"),
        ("--flows", "flow", "b", "mark_rate"),
    ):
        asked = ["--y", shown] if per == "flow" else []
        answer = dumbbell("table", tmp_path / "r", option, "--statistic", "mean", "--from", "2s", "--json", *asked)
        assert answer.status == 0
        rows = {row[per]: row for row in json.loads(answer.out)["rows"]}
        values = [rates(each, per, Window(2))[key][shown] for each in api.load(tmp_path / "r")]
        assert rows[key][shown] == pytest.approx(np.mean(values))
        table = {row[per]: row for row in api.table(tmp_path / "r", per=per, y=shown, from_=2).records()}
        assert table[key][shown] == rows[key][shown]
    answer = dumbbell("table", tmp_path / "r", "--flows")
    assert answer.status == 2
    assert "--flows was given without --statistic" in answer.err


def test_harm_is_that_of_ware_and_others(tmp_path, dumbbell):
    assert metrics.harm(10, 4) == pytest.approx(0.6)
    assert metrics.harm(40, 50, more_is_better=False) == pytest.approx(0.2)
    assert metrics.harm(10, 12) < 0
    assert math.isnan(metrics.harm(0, 0))
    flows = [{"cc": "cubic", "start": {"jitter": "1s"}}, {"cc": "bbr", "start": {"jitter": "1s"}}]
    path = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "0.5bdp"}}}
    for name, listed in (("alone", flows[:1]), ("both", flows)):
        made = Scenario(name="h", path=path, flows=listed, duration="5s", repeat=2)
        execute(prepare(made.runs()), Store(tmp_path / name))
    answer = dumbbell(
        "compare", tmp_path / "alone", tmp_path / "both", "--harm", "--json", "--y", "goodput", "--y", "srtt_mean", "--y", "mark_rate"
    )
    assert answer.status == 0
    rows = {row["metric"]: row for row in json.loads(answer.out)["compared"]}
    assert rows["goodput_mbit"]["harm"] == pytest.approx(1 - rows["goodput_mbit"]["second"] / rows["goodput_mbit"]["first"])
    assert rows["srtt_mean_ms"]["harm"] == pytest.approx(1 - rows["srtt_mean_ms"]["first"] / rows["srtt_mean_ms"]["second"])
