"""Estimates over seeds."""

import math

import pytest
from scipy import stats

from dumbbell.comparing.across.estimates import Estimate, by_run, counts, estimate, rounded

VALUES = [9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 30.0]


def test_a_mean_has_the_interval_of_student_s_t():
    found = estimate([*VALUES, math.nan], "mean")
    low, high = stats.t.interval(0.95, len(VALUES) - 1, loc=found.centre, scale=stats.sem(VALUES))
    assert (found.centre, found.low, found.high, found.count) == (pytest.approx(99 / 7), pytest.approx(low), pytest.approx(high), 7)


def test_a_median_has_the_interval_of_order_statistics():
    assert estimate(VALUES, "median") == Estimate(12.0, 9.0, 30.0, 7)
    assert not estimate(VALUES[:5], "median").has_interval


def test_a_spread_has_percentiles():
    assert estimate(list(range(101)), "spread") == Estimate(50.0, 5.0, 95.0, 101)


@pytest.mark.parametrize("statistic", ["mean", "median", "spread"])
@pytest.mark.parametrize(("values", "centre"), [([4.0], 4.0), ([4.0] * 9, 4.0), ([], math.nan), ([math.nan], math.nan)])
def test_one_value_and_equal_ones_have_no_interval(statistic, values, centre):
    found = estimate(values, statistic)
    assert found.centre == pytest.approx(centre, nan_ok=True)
    assert not found.has_interval


def test_flows_of_a_run_count_as_one():
    assert by_run([(0, 1.0), (0, 3.0), (1, 5.0), (2, math.nan)]) == [2.0, 5.0]


@pytest.mark.parametrize(
    ("found", "texts"),
    [
        (Estimate(9.41234, 9.38, 9.44468, 5), ("9.412", "9.380", "9.445")),
        (Estimate(1234.5, 1000.0, 1469.0, 5), ("1234", "1000", "1469")),
        (Estimate(9.41234, math.nan, math.nan, 1), ("9.412", "", "")),
        (Estimate(math.nan, math.nan, math.nan, 0), ("", "", "")),
    ],
)
def test_numbers_are_shown_to_two_digits_of_the_interval(found, texts):
    assert rounded(found) == texts


def test_repeats_are_counted_in_words():
    assert counts([Estimate(1, 1, 1, n) for n in (5, 5)]) == "5 runs"
    assert counts([Estimate(1, 1, 1, n) for n in (3, 5, 0)]) == "3 to 5 runs"
    assert counts([Estimate(1, 1, 1, 1)]) == "one run"
