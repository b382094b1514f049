"""Statements of agreement: floors, ranges and targets."""

from dataclasses import replace

import pytest
from support import make_run

from dumbbell.agreement.comparison import Comparison
from dumbbell.agreement.measures import ALL, FORMAT
from dumbbell.agreement.sets import ScenarioSet
from dumbbell.agreement.statement import statement, worst
from dumbbell.agreement.tables import agree, below_bar, differences_table, shares_table, statement_table
from dumbbell.comparing.difference import difference
from dumbbell.comparing.reference import ReferenceValue


@pytest.fixture
def state():
    """A function that returns (statement, difference) for rows of scenario, entity, metric, dumbbell's values, reference values."""

    def make(*rows, starts=10):
        ours, reference = {}, []
        for scenario, entity, metric, mine, theirs in rows:
            ours[(scenario, entity), metric] = mine
            middle = sorted(theirs)[len(theirs) // 2]
            spread = (min(theirs), max(theirs)) if len(theirs) > 1 else None
            reference.append(ReferenceValue((scenario, entity), metric, middle, 0, spread))
        found = difference(ours, reference, FORMAT)
        asked = ScenarioSet("random", (7,), starts, ())
        run = replace(make_run(), scenario={"path": {"mtu": 1500}}, plan={"ports": []})
        return statement(Comparison(asked, ("kernel", "sim"), (run,), (run,), "2026-01-02"), found), found

    return make


def rows_of(metric, pairs):
    return [(f"s{i}", ALL, metric, [ours], [theirs]) for i, (ours, theirs) in enumerate(pairs)]


def bars_of(document):
    return {(bar["metric"], bar["statistic"]): bar["met"] for bar in document["bars"]}


def test_small_counts_are_compared_with_a_floor(state):
    document, _ = state(("s", "port/bottleneck", "drops", [3.0], [2.0]), ("t", "port/bottleneck", "drops", [30.0], [20.0]))
    assert document["metrics"]["drops"]["median_abs"] == 5.5
    assert document["metrics"]["drops"]["median_rel"] == pytest.approx((1 / 10 + 10 / 20) / 2)
    assert document["metrics"]["drops"]["floor"] == 10


def test_goodput_has_a_bar_for_median_and_p95(state):
    good = [(10.04, 10.0)] * 20
    document, _ = state(*rows_of("goodput", good))
    assert bars_of(document) == {("goodput", "median_rel"): True, ("goodput", "p95_rel"): True}
    assert below_bar(document) == []
    document, _ = state(*rows_of("goodput", [*good[:18], (9.0, 10.0), (9.0, 10.0)]))
    assert bars_of(document) == {("goodput", "median_rel"): True, ("goodput", "p95_rel"): False}
    assert below_bar(document) == ["goodput, p95 difference: 10.00 %, the target is 4.00 %"]
    document, _ = state(*rows_of("rtt_mean", [(10.4, 10.0)] * 3))
    assert below_bar(document) == ["mean srtt, median difference: 4.00 %, the target is 2.00 %"]


def test_shares_must_be_within_the_reference_range(state):
    inside, outside = ([0.4] * 10, [0.3, *[0.5] * 8, 0.6]), ([0.695] * 10, [0.3, *[0.5] * 8, 0.69])

    def rows(scenario, *flows):
        return [(scenario, f"flow/{i}", "share", *flow) for i, flow in enumerate(flows)]

    document, _ = state(*rows("a", inside, inside), *rows("b", inside, outside))
    assert document["shares"] == {"scenarios": 2, "flows": 4, "inside": 0.75, "all_inside": 0.5, "near": 1.0}
    assert below_bar(document) == ["share of a flow, inside the reference's range over starts: 75.00 %, the target is 90.00 %"]
    every = [row for i in range(9) for row in rows(f"a{i}", inside, inside)]
    document, _ = state(*every, *rows("b", inside, outside, outside))
    assert document["shares"]["inside"] == pytest.approx((9 + 1 / 3) / 10)
    assert below_bar(document) == []


def test_a_range_of_few_starts_is_reported_but_has_no_bar(state):
    document, _ = state(("a", "flow/x", "share", [0.9] * 3, [0.4, 0.5, 0.6]), starts=3)
    assert document["shares"]["inside"] == 0
    assert document["bars"] == []


def test_the_worst_are_outside_the_range_and_measured_in_tolerances(state):
    _, found = state(
        ("inside", ALL, "goodput", [5.0] * 10, [1.0, *[9.0] * 8, 10.0]),
        ("outside", ALL, "goodput", [5.0] * 10, [9.0] * 10),
        ("equal", ALL, "goodput", [9.0], [9.0]),
        ("near", ALL, "rtt_mean", [101.0], [100.0]),
    )
    assert [cell.key["scenario"] for cell in worst(found)] == ["outside", "near"]


def test_tables(state):
    document, found = state(("s", ALL, "goodput", [9.0], [10.0]), ("s", "flow/x", "share", [0.5] * 10, [0.4, *[0.5] * 9]))
    assert list(statement_table(document).fields[0]) == [
        "goodput (Mbit/s)",
        "1",
        "10.00 % (≤ 0.5 %, missed)",
        "10.00 % (≤ 4 %, missed)",
        "1",
        "1",
    ]
    assert [row[1] for row in shares_table(document).fields] == ["100.00 % (≥ 90 %)", "100.00 %", "100.00 %"]
    first, second = (
        dict(zip(differences_table(found, ("kernel", "sim")).columns, row, strict=True))
        for row in differences_table(found, ("kernel", "sim")).fields
    )
    assert first == {
        "scenario": "s",
        "entity": ALL,
        "metric": "goodput",
        "unit": "Mbit/s",
        "starts": "1",
        "kernel": "10",
        "kernel_low": "10",
        "kernel_high": "10",
        "sim": "9",
        "sim_low": "9",
        "sim_high": "9",
        "difference": "-1",
        "relative": "0.1",
        "inside": "",
    }
    assert (second["kernel_low"], second["inside"], second["starts"]) == ("0.4", "true", "10")
    assert agree(document).startswith("Set random, seed 7: 0 scenarios, 1 runs on each engine")
    assert "runs of 2026-01-02" in agree(document)
