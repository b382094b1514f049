"""The summary of each flow over the time in which it is active."""

import json
from dataclasses import replace

import numpy as np
import pytest
from support import FLOW, PORT, make_run, tables

import dumbbell
from dumbbell.comparing.summary import run_table, summary_table, summary_tidy
from dumbbell.results import Summary
from dumbbell.results.summary import Traits
from dumbbell.results.tables import Table


def measured(**counters):
    run = make_run()
    (flow, port) = run.samples
    values = np.array([np.arange(11.0), 10 * np.arange(11.0)])
    run = replace(run, samples=(replace(flow, values=values), port), **tables({"flow/reno": {**FLOW, **counters}}))
    return run.summary.flows["reno"]


def test_means_cover_only_the_time_in_which_the_flow_is_active():
    found = measured(start_ns=300_000_000, active_ns=400_000_000)
    assert found["cwnd_mean_packets"] == pytest.approx(5)
    assert found["srtt_mean_ms"] == pytest.approx(50)
    assert found["srtt_p95_ms"] == pytest.approx(68)
    assert found["flow_goodput_mbit"] == pytest.approx(8 * FLOW["rx_bytes"] / 0.4 / 1e6)


def test_the_completion_is_counted_from_the_start():
    assert measured(start_ns=300_000_000, active_ns=400_000_000, completed_ns=700_000_000)["completion_s"] == pytest.approx(0.4)
    assert np.isnan(measured()["completion_s"])


def test_what_a_program_says_is_shown_where_one_does():
    run = make_run()
    columns = {name: [value] for name, value in (("reported_bps", 2_500_000), ("reported_retransmits", 3))}
    said = replace(run, flows=Table("flows", {**run.flows.columns, **columns}))
    assert said.summary.flows["reno"]["reported_mbit"] == 2.5
    table = summary_table([said], "")
    assert dict(zip(table.columns, table.fields[0], strict=True))["reported_retransmits"] == "3"
    assert "reno,reported_mbit,2.5" in summary_tidy([said])
    assert "reported_mbit" not in summary_table([run], "").columns
    assert "reported" not in summary_tidy([run])


def two_flows():
    """8 segments in the first second; 16 in the half second from 1.5 s on; RTTs of 10 and 11 ms, and of 31 ms."""
    run = make_run(cell={"qdisc": "pie"})
    flow, port = run.samples
    first = replace(flow, values=np.array([np.ones(11), [10.0, 11.0] + 9 * [11.0]]))
    late = replace(flow, entity="flow/late", t_ns=flow.t_ns + 1_500_000_000, values=np.array([np.ones(11), np.full(11, 31.0)]))
    counters = {
        "flow/reno": {**FLOW, "active_ns": 10**9},
        "flow/late": {**FLOW, "rx_bytes": 16 * 1448, "start_ns": 1_500_000_000, "active_ns": 500_000_000, "retransmits": 2},
        "port/bottleneck": {**PORT, "dropped_overflow": 3, "dropped_aqm": 4, "ce_marks": 5},
        "port/bottleneck-reverse": {**PORT, "dropped_overflow": 1},
    }
    return replace(run, samples=(first, late, port), **tables(counters))


def test_all_flows_of_a_run_are_summarised():
    found = two_flows().summary.run
    assert found["flows"] == 2
    assert found["goodput_mbit"] == pytest.approx(8 * 24 * 1448 / 2 / 1e6)
    # 8 and 32 segments a second.
    assert found["jain_index"] == pytest.approx((8 + 32) ** 2 / (2 * (8**2 + 32**2)))
    # Eleven samples of the first flow, six of the second.
    assert found["srtt_mean_ms"] == pytest.approx((10 + 10 * 11 + 6 * 31) / 17)
    assert found["srtt_p95_ms"] == pytest.approx(31)
    assert (found["retransmits"], found["drops"], found["ce_marks"]) == (3, 8, 5)


def test_a_table_by_run_has_a_row_per_run_and_gaps_without_samples():
    table = run_table([two_flows(), replace(two_flows(), samples=())], "t")
    assert list(table.columns)[:4] == ["qdisc", "flows", "goodput_mbit", "jain_index"]
    assert [row[0] for row in table.fields] == ["pie", "pie"]
    first, second = table.records()
    assert first["goodput_mbit"] == two_flows().summary.run["goodput_mbit"]  # with all its digits
    assert (second["srtt_mean_ms"], second["drops"], type(second["drops"])) == (None, 8, int)


def test_a_counter_that_is_missing_is_an_empty_metric():
    counters = {name: value for name, value in FLOW.items() if name not in ("rx_bytes", "retransmits")}
    run = replace(make_run(), **tables({"flow/reno": counters, "port/bottleneck": PORT}))
    found = run.summary
    assert np.isnan([found.flows["reno"]["flow_goodput_mbit"], found.flows["reno"]["retransmits"]]).all()
    assert np.isnan([found.run["goodput_mbit"], found.run["retransmits"], found.run["jain_index"]]).all()
    assert found.flows["reno"]["srtt_mean_ms"] > 0


def test_a_summary_says_what_its_flows_are_and_stays_itself_as_json():
    (run,) = dumbbell.run(
        dumbbell.Scenario.from_text(
            "name: s\npath: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: pfifo, limit: 1bdp}}}\nduration: 1s\n"
            "flows: [{name: up, cc: reno, count: 2}, {cc: cubic, direction: reverse}]\n"
            "background: [{kind: ping, name: probe, interval: 20ms}]\n"
        )
    )
    found = run.summary
    assert found.engine == "sim"
    assert found.traits["flows"] == {
        "up-1": Traits("up", "reno", "forward"),
        "up-2": Traits("up", "reno", "forward"),
        "cubic": Traits("cubic", "cubic", "reverse"),
    }
    assert found.traits["datagrams"]["probe"].group == "probe"
    plain = json.loads(json.dumps(found.plain()))
    again = Summary.from_plain(plain)
    assert again is not None
    assert again.plain() == found.plain()
    for wrong in (None, {}, {"flows": {"up-1": ["up"]}, "groups": {}, "datagrams": {}}, {"flows": [], "groups": {}, "datagrams": {}}):
        assert Summary.from_plain({**plain, "traits": wrong}) is None
