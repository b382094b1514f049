import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dumbbell import metrics

SHARES = st.lists(st.floats(0.001, 1e6), min_size=1, max_size=50)


@given(SHARES)
def test_jain_lies_between_one_over_n_and_one(shares):
    assert 1 / len(shares) - 1e-9 <= metrics.jain(shares) <= 1 + 1e-9


@given(SHARES, st.floats(0.1, 10))
def test_jain_does_not_depend_on_units(shares, scale):
    assert metrics.jain([scale * share for share in shares]) == pytest.approx(metrics.jain(shares))


def test_jain_of_known_shares():
    assert metrics.jain([1, 1, 1]) == 1
    assert metrics.jain([1, 0]) == 0.5
    assert metrics.jain([3, 1]) == pytest.approx(0.8)
    assert math.isnan(metrics.jain([0, 0]))


def test_jain_refuses_values_that_are_no_shares():
    with pytest.raises(ValueError, match="negative"):
        metrics.jain([1, -1])
    with pytest.raises(ValueError, match="no shares"):
        metrics.jain([])


def test_coefficient_of_variation():
    assert metrics.coefficient_of_variation([2, 4]) == pytest.approx(1 / 3)
    assert metrics.coefficient_of_variation([5, 5]) == 0
    assert math.isnan(metrics.coefficient_of_variation([-1, 1]))


def test_confidence_interval_of_a_textbook_sample():
    centre, low, high = metrics.confidence_interval([9, 10, 11], 0.95)
    assert centre == 10
    # t(0.975, 2) = 4.30265, s / sqrt(3) = 0.57735
    assert high - centre == pytest.approx(2.48414, rel=1e-5)
    assert centre - low == pytest.approx(2.48414, rel=1e-5)


def test_one_run_has_no_confidence_interval():
    assert metrics.confidence_interval([3]) == (3, -math.inf, math.inf)


def test_identical_repeats_have_no_confidence_interval():
    with pytest.raises(ValueError, match="not independent"):
        metrics.confidence_interval([3, 3, 3])


def test_rank_correlation_is_one_for_any_increasing_relation():
    assert metrics.rank_correlation([1, 2, 3, 4], [1, 8, 27, 1000]) == pytest.approx(1)
    assert metrics.rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert math.isnan(metrics.rank_correlation([1, 2, 3], [5, 5, 5]))
    with pytest.raises(ValueError, match="same length"):
        metrics.rank_correlation([1, 2], [1, 2, 3])


@given(st.lists(st.floats(0.001, 1e6), min_size=2, max_size=30))
def test_a_bootstrap_interval_contains_the_median_and_lies_within_the_values(values):
    centre, low, high = metrics.bootstrap_interval(values)
    assert centre == np.median(values)
    assert min(values) <= low <= centre <= high <= max(values)
    assert metrics.bootstrap_interval(values) == (centre, low, high)


def test_a_bootstrap_interval_narrows_with_more_values():
    rng = np.random.default_rng(1)
    few, many = (metrics.bootstrap_interval(list(rng.normal(10, 1, n)), np.mean) for n in (10, 1000))
    assert many[2] - many[1] < 0.3 * (few[2] - few[1])
    assert many[1] < 10 < many[2]


def test_one_value_has_no_bootstrap_interval():
    assert metrics.bootstrap_interval([3.0]) == (3.0, -math.inf, math.inf)
    with pytest.raises(ValueError, match="no values"):
        metrics.bootstrap_interval([])


@given(st.lists(st.lists(st.floats(0.001, 1e3), min_size=3, max_size=3), min_size=1, max_size=20))
def test_jain_by_step_is_jain_of_each_step(steps):
    rates = np.array(steps).T
    found = metrics.jain_by_step(rates)
    assert list(found) == [pytest.approx(metrics.jain(step)) for step in steps]


def test_jain_by_step_ignores_inactive_flows():
    nan = math.nan
    found = metrics.jain_by_step(np.array([[4.0, 4.0, nan, 0.0], [nan, 4.0, nan, 0.0], [nan, 0.0, nan, nan]]))
    assert found[0] == 1
    assert found[1] == pytest.approx(2 / 3)
    assert np.isnan(found[2:]).all()


def test_time_to_fair_share_is_to_the_first_window_that_has_it():
    times = np.arange(20.0, 26.0, 0.5)
    rates = np.array([math.nan] * 4 + [1.0, 2.0, 4.4, 4.6, 3.0, 5.0, 5.0, 5.0])
    assert metrics.time_to_fair_share((times, rates), 5.0, 20.0) == 3.5
    assert math.isnan(metrics.time_to_fair_share((times, rates), 9.0, 20.0))


@pytest.mark.parametrize("count", [1, 5, 6, 9, 20, 101])
def test_limits_of_a_median_are_those_of_order_statistics(count):
    values = np.random.default_rng(count).normal(size=count)
    centre, low, high = metrics.median_interval(values.tolist())
    assert centre == pytest.approx(np.median(values))
    theirs = stats.quantile_test(values, q=0.0, p=0.5).confidence_interval(0.95)
    if count < 6:
        assert (low, high) == (-math.inf, math.inf)
        assert math.isnan(theirs.low)
    else:
        assert (low, high) == (theirs.low, theirs.high)


def test_an_ellipse_of_points_has_their_deviations_and_their_direction():
    x = np.array([-3.0, 3.0, -1.0, 1.0])
    centre, first, second, angle = metrics.gaussian_ellipse(x, x + np.array([0.5, 0.5, -0.5, -0.5]))
    assert centre == (0.0, 0.0)
    assert first > second > 0
    assert angle % 180 == pytest.approx(45, abs=2)
    assert metrics.gaussian_ellipse(np.array([1.0]), np.array([2.0]))[1:3] == (0.0, 0.0)


@pytest.mark.parametrize("freedom", [*range(1, 40), 99, 1000])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_student_s_t_is_that_of_scipy(freedom, level):
    from dumbbell.metrics.statistics import student_half_width

    assert student_half_width(freedom, level) == pytest.approx(stats.t.ppf(0.5 + level / 2, freedom), rel=1e-11)
