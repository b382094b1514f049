"""Differences that chance alone makes, on hand-made runs."""

from dataclasses import replace

import numpy as np
import pytest
from support import one_flow as run

from dumbbell.agreement.chance import by_chance, relative
from dumbbell.agreement.comparison import Comparison
from dumbbell.agreement.measures import METRICS
from dumbbell.agreement.sets import ScenarioSet
from dumbbell.agreement.statement import BARS, MEDIAN, P95, statement
from dumbbell.agreement.tables import agree, below_bar, definitions_table, statement_table


@pytest.fixture
def compared():
    """A function that makes a comparison of scenario -> (the reference's goodputs, dumbbell's), a value a start."""

    def make(**goodputs):
        sides = [tuple(run(name, mbit) for name, sides in goodputs.items() for mbit in sides[side]) for side in (0, 1)]
        return Comparison(ScenarioSet("random-cdg", (7,), 10, ()), ("kernel", "sim"), *sides, "2026-01-02")

    return make


def goodput(comparison):
    return by_chance(comparison, comparison.difference(), ["goodput"]).get("goodput")


def test_the_runs_of_a_start_change_sides_together():
    theirs, ours = np.array([10.0, 20.0]), np.array([12.0, 18.0])
    exchanged = np.array([[False, False], [True, False], [False, True], [True, True]])
    assert relative(theirs, ours, exchanged, 0.01) == pytest.approx([0, 2 / 16, 2 / 14, 0])
    assert relative(theirs, ours, exchanged, 32.0) == pytest.approx([0, 2 / 32, 2 / 32, 0])


def test_of_three_equal_shifts_one_is_left_by_chance(compared):
    found = goodput(compared(s=([9.0] * 3, [12.0] * 3)))
    assert found["cells"] == 1
    for statistic in (MEDIAN, P95):
        assert found[statistic]["found"] == pytest.approx(1 / 3)
        assert found[statistic]["expected"] == pytest.approx(1 / 10, abs=0.011)  # 11 compared with 10, or 10 with 11: six of eight cases
        assert found[statistic]["as_large"] == pytest.approx(1 / 8, abs=0.02)


def test_engines_of_one_distribution_are_as_far_apart_as_by_chance(compared):
    draw = np.random.default_rng(5)
    drawn = {f"s{i}": (draw.normal(10, spread, 10), draw.normal(10, spread, 10)) for i, spread in enumerate(np.linspace(0.1, 3, 12))}
    found = goodput(compared(**drawn))
    for statistic in (MEDIAN, P95):
        assert 0.05 < found[statistic]["as_large"] < 0.95
        assert found[statistic]["expected"] == pytest.approx(found[statistic]["found"], rel=0.6)


def test_a_shift_beyond_the_noise_is_not_chance(compared):
    draw = np.random.default_rng(6)
    found = goodput(compared(**{f"s{i}": (draw.normal(10, 0.2, 10), draw.normal(10.5, 0.2, 10)) for i in range(12)}))
    for statistic in (MEDIAN, P95):
        assert found[statistic]["as_large"] == 0
        assert found[statistic]["expected"] < 0.6 * found[statistic]["found"]


def test_starts_that_differ_alike_on_both_engines_are_no_noise(compared):
    starts = [5.0, 10.0, 20.0, 40.0]
    found = goodput(compared(s=(starts, starts)))
    assert found[P95] == {"expected": 0, "found": 0, "as_large": 1}
    assert goodput(compared(s=(starts, [1.01 * each for each in starts])))[P95]["expected"] < 0.01


def test_scenarios_with_one_start_are_left_out(compared):
    assert goodput(compared(s=([10.0], [11.0]))) is None
    assert goodput(compared(s=([10.0], [11.0]), t=([10.0, 12.0], [11.0, 13.0])))["cells"] == 1
    comparison = compared(s=([10.0, 11.0], [11.0, 12.0]))
    assert by_chance(comparison, comparison.difference(), ["probe_rtt"]) == {}


def test_it_stands_beside_the_bars(compared):
    comparison = compared(s=([9.0] * 3, [12.0] * 3))
    found = comparison.difference()
    document = statement(comparison, found)
    (row,) = (row for row in statement_table(document).fields if row[0] == "by chance alone")
    assert row[1] == "1"
    assert row[2].endswith(" %)")
    assert "as large in 1" in row[2]
    expected = 100 * document["chance"]["goodput"][P95]["expected"]
    assert f"goodput, p95 difference: 33.33 %, the target is 4.00 % ({expected:.2f} % by chance alone)" in below_bar(document)
    assert "by chance alone" in definitions_table(document).markdown()
    assert "by chance alone" in agree(document)
    del document["chance"]  # a statement of before it was asked
    assert "by chance alone" not in agree(document) + definitions_table(document).markdown() + "".join(below_bar(document))


def test_all_that_is_asked_is_averaged():
    assert {METRICS[bar.metric].centre.__name__ for bar in BARS if bar.statistic in (MEDIAN, P95)} == {"fmean"}


def test_with_further_runs_all_runs_are_dealt_out(compared):
    draw = np.random.default_rng(9)
    sides = {f"s{i}": (draw.normal(10, 1, 5), draw.normal(10, 1, 5)) for i in range(12)}
    further = tuple(run(name, mbit) for name in sides for mbit in draw.normal(10, 1, 15))
    alike = goodput(replace(compared(**sides), further=further))
    assert 0.02 < alike[P95]["as_large"] < 0.98
    assert alike[P95]["expected"] < goodput(compared(**sides))[P95]["expected"]
    shifted = tuple(run(name, mbit + 5) for name in sides for mbit in draw.normal(10, 1, 15))
    apart = goodput(replace(compared(**{name: (theirs, ours + 5) for name, (theirs, ours) in sides.items()}), further=shifted))
    assert apart[MEDIAN]["as_large"] == 0
    assert apart[MEDIAN]["found"] == pytest.approx(0.5, rel=0.2)
