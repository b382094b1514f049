"""Windows sample by sample, on synthetic runs."""

from dataclasses import replace

import numpy as np
import pytest
from support import tables

from dumbbell.agreement.comparison import Comparison
from dumbbell.agreement.sets import ScenarioSet
from dumbbell.agreement.statement import statement
from dumbbell.agreement.tables import below_bar, statement_tables, windows_list
from dumbbell.agreement.windows import has_trace, summary, trace, traces
from dumbbell.comparing.difference import Difference
from dumbbell.results import Block, Run
from dumbbell.scenario import Scenario

SECOND = 10**9
PATH = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "10p"}}}


def scenario(name="s", **settings):
    return Scenario.model_validate({"name": name, "path": PATH, "flows": [{"cc": "reno"}], "duration": "60s"} | settings)


@pytest.fixture
def made():
    """A function that makes a run whose flow has these windows, one a second from its start; the last sample is at its end."""

    def make(windows, name="s", start_s=0, srtt=None):
        ends = max(len(windows) - 1, 1)
        counters = {"flow/reno": {"start_ns": start_s * SECOND, "active_ns": ends * SECOND, "rx_bytes": 1, "retransmits": 0}}
        values = np.array([windows, srtt or [20.0] * len(windows)], dtype=float)
        block = Block("flow/reno", ("cwnd", "srtt_ms"), (start_s + np.arange(len(windows))) * SECOND, values)
        (resolved,) = scenario(name).expand()
        known = {"scenario": resolved.settings.model_dump(mode="json"), "plan": {"ports": []}, "engine": {"name": "sim"}}
        return Run(key="0", name=name, cell={}, status="ok", reasons=(), **tables(counters), digest="", samples=(block,), **known)

    return make


def test_within_is_two_percent_of_the_reference(made):
    theirs, ours = [100, 100, 100, 49, 49, 10, 200], [102, 98, 103, 49, 50, 12, 196]
    found = trace("s", [(made(theirs), made(ours))])
    assert (found.samples, found.within, found.within_or_one) == (7, 4 / 7, 5 / 7)
    assert found.first_s == 0


def test_the_first_sample_that_differs_counts_from_the_start_of_the_flow(made):
    found = trace("s", [(made([10, 100, 100, 7], start_s=5), made([10, 100, 101, 7], start_s=5))])
    assert (found.within, found.first_s) == (1, 2)
    assert trace("s", [(made([10, 11]), made([10, 11]))]).first_s is None


def test_a_sample_of_one_engine_alone_is_not_within(made):
    assert trace("s", [(made([10, 10, 10, 10]), made([10, 10, 10]))]).within == 3 / 4
    assert trace("s", [(made([10, 10, 10]), made([10, 10, 10, 10]))]).within == 3 / 4


def test_windows_before_the_first_rtt_are_left_out(made):
    srtt = [np.nan, 20, 20]
    assert trace("s", [(made([1, 10, 10], srtt=srtt), made([9, 10, 10], srtt=srtt))]).samples == 2
    assert trace("s", [(made([1, 2], srtt=[np.nan] * 2), made([1, 2], srtt=[np.nan] * 2))]) is None


def test_only_the_first_thirty_seconds_count(made):
    found = trace("s", [(made([10] * 31 + [99] * 20), made([10] * 51))])
    assert (found.samples, found.within, found.first_s) == (31, 1, None)


def test_all_starts_count(made):
    found = trace("s", [(made([10, 10]), made([10, 10])), (made([10, 10], start_s=3), made([10, 12], start_s=3))])
    assert (found.starts, found.samples, found.within, found.first_s) == (2, 4, 3 / 4, 1)


def test_a_flow_alone_without_random_numbers_has_a_trace():
    assert has_trace(scenario())
    assert has_trace(scenario(repeat=3))
    assert not has_trace(scenario(flows=[{"cc": "reno", "count": 2}]))
    assert not has_trace(scenario(flows=[{"cc": "cdg"}]))
    assert not has_trace(scenario(path={**PATH, "delay": {"loss": "1%"}}))
    assert not has_trace(scenario(path={**PATH, "bottleneck": {"rate": "10mbit", "qdisc": "pie"}}))


@pytest.fixture
def compared(made):
    """Three scenarios: equal, apart from the second sample on, and one of cdg."""
    scenarios = (scenario("same"), scenario("apart"), scenario("random", flows=[{"cc": "cdg"}]))
    theirs = tuple(made([10] * 4, each.name) for each in scenarios)
    ours = tuple(made([10, *[20 if each.name == "apart" else 10] * 3], each.name) for each in scenarios)
    return Comparison(ScenarioSet("random", (7,), 1, scenarios), ("kernel", "sim"), theirs, ours, "2026-01-02")


def test_the_statement_has_the_median_the_worst_and_each(compared):
    assert [(each.scenario, each.within) for each in traces(compared)] == [("same", 1), ("apart", 0.25)]
    document = statement(compared, Difference({}))
    windows = document["windows"]
    assert (windows["scenarios"], windows["within"], windows["within_or_one"], windows["same"]) == (2, 0.625, 0.625, 1)
    assert windows["few"] == {"scenarios": 0}
    assert windows["others"] == {"scenarios": 2, "within": 0.625, "within_or_one": 0.625}
    assert windows["first_s"] is None  # the median of none and one second
    assert below_bar(document) == [
        "window in the first 30 s, samples within 2 %, median over the scenarios: 62.50 %, the target is 90.00 %"
    ]
    _, table = statement_tables(document)
    assert [list(row) for row in table.fields] == [
        ["samples within 2 %", "62.50 % (≥ 90 %, missed)", "25.00 % (apart)"],
        ["samples within 2 % or one packet", "62.50 %", "25.00 % (apart)"],
        ["first sample that differs (none in 1)", "none", "1 s (apart)"],
    ]
    assert [list(row) for row in windows_list(document).fields] == [
        ["same", "1", "4", "1", "1", ""],
        ["apart", "1", "4", "0.25", "0.25", "1"],
    ]


def test_queues_of_few_packets_stand_apart(compared):
    document = statement(compared, Difference({}))
    document["windows"] = summary(traces(compared), ["apart"])
    assert document["windows"]["few"] == {"scenarios": 1, "within": 0.25, "within_or_one": 0.25}
    rows = [list(row) for row in statement_tables(document)[1].fields]
    assert rows[1:3] == [["of these, queues of at most 4 packets (1)", "25.00 %", ""], ["of these, longer queues (1)", "100.00 %", ""]]


def test_without_such_scenarios_there_is_no_table(compared):
    few = replace(compared, scenario_set=ScenarioSet("random", (7,), 1, ()))
    document = statement(few, Difference({}))
    assert document["windows"] == summary([]) == {"scenarios": 0, "each": []}
    assert document["bars"] == []
    assert len(statement_tables(document)) == 1
