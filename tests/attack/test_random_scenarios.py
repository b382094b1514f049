"""Random scenarios with a recorded seed; `make validate` draws others, for a simulator that is built with checks."""

import dataclasses

import pytest
from attack.absurd import absurdities
from attack.random_scenarios import accepted, drawn, judged

from dumbbell.results import Run, Table

SEED, COUNT = 1, 60


@pytest.mark.parametrize("first", range(0, COUNT, 20))
def test_no_run_is_absurd_or_differs_from_a_second_one(first):
    outcomes = {i: judged(drawn(SEED, i), most_packets=20_000) for i in range(first, first + 20)}
    assert {i: outcome.lines for i, outcome in outcomes.items() if outcome.what == "failed"} == {}
    assert sum(outcome.what == "run" for outcome in outcomes.values()) >= 8


def test_what_is_absurd_is_told():
    tree = {
        "name": "s",
        "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": "fq_codel"}},
        "flows": [{"cc": "cubic", "bytes": "100kB"}],
        "duration": "2s",
    }
    _, prepared = accepted(tree)
    run = prepared.produce()
    assert list(absurdities(prepared.plan, run)) == []
    for column, value, told in (
        ("rx_bytes", 3e6, "flow cubic: read 3000000"),
        ("min_rtt_ms", 12.5, "flow cubic: min_rtt_ms is 12.5, the way takes 20.0 ms"),
        ("completed_ns", -1.0, "flow cubic: completed_ns is -1"),
        ("cwnd_limited_ms", 5000.0, "flow cubic: limited for "),
    ):
        assert any(line.startswith(told) for line in absurdities(prepared.plan, changed(run, column, value))), told


def changed(run: Run, column: str, value: float) -> Run:
    """The run with another value in the table of flows."""
    return dataclasses.replace(run, flows=Table.of_rows("flows", [{**row, column: value} for row in run.flows.rows()]))
