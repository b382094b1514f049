import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell import metrics

SMALL = np.array([1.0, 2.0, 3.0])
LARGE = np.array([2.0, 3.0, 4.0])
WIDE = np.array([0.0, 2.0, 4.0])


@pytest.mark.parametrize(
    ("x", "y", "order", "violation"),
    [
        (SMALL, LARGE, "stochastic", 0),
        (LARGE, SMALL, "stochastic", 1 / 3),
        # Their distribution functions cross.
        (SMALL, WIDE, "stochastic", 1 / 3),
        (WIDE, SMALL, "stochastic", 1 / 3),
        (SMALL, WIDE, "increasing-convex", 0),
        # At t = 2 it is 2/3 against 1/3; the samples agree at 0 and at 4.
        (WIDE, SMALL, "increasing-convex", 1 / 3),
        # One more on average, at the lowest value of both.
        (LARGE, SMALL, "increasing-convex", 1),
        (LARGE, SMALL, "dilation", 0),
        (WIDE, LARGE, "dilation", 1 / 3),
    ],
)
def test_by_how_much_samples_violate_an_order(x, y, order, violation):
    assert metrics.order_test(x, y, order, resamples=10).violation == pytest.approx(violation)


@given(st.integers(0, 2**32), st.sampled_from(["stochastic", "increasing-convex", "dilation"]))
def test_a_sample_is_equal_to_itself(seed, order):
    x = np.random.default_rng(seed).normal(size=30)
    assert metrics.order_test(x, x, order, resamples=20).p_value == 1
    assert metrics.relation(x, x, order, resamples=20) == "equal"


def test_relations_of_known_distributions():
    rng = np.random.default_rng(7)
    low, high, wide = (rng.normal(mean, deviation, 400) for mean, deviation in ((10, 1), (11, 1), (10, 3)))
    assert metrics.relation(low, high, "stochastic") == "below"
    assert metrics.relation(high, low, "stochastic") == "above"
    assert metrics.relation(low, wide, "stochastic") == "neither"
    assert metrics.relation(low, wide, "increasing-convex") == "below"
    assert metrics.relation(low, wide, "dilation") == "below"
    assert metrics.relation(low, high, "dilation") == "equal"


def test_the_test_refutes_a_true_order_as_rarely_as_its_level_says():
    rng = np.random.default_rng(3)
    refuted = sum(
        metrics.order_test(rng.normal(size=60), rng.normal(size=60), "stochastic", resamples=100, seed=i).p_value <= 0.05
        for i in range(200)
    )
    assert refuted <= 22


def test_blocks_allow_for_samples_that_are_not_independent():
    rng = np.random.default_rng(5)
    # Values come in runs of 20, so that there are only 20 of each sample in truth.
    x, y = (np.repeat(rng.normal(mean, 1, 20), 20) for mean in (0.4, 0.0))
    alone = metrics.order_test(x, y, "stochastic", resamples=200).p_value
    assert metrics.order_test(x, y, "stochastic", block=20, resamples=200).p_value > alone


def test_equal_seeds_give_equal_results():
    x, y = np.random.default_rng(1).normal(size=(2, 50))
    first, second = (metrics.order_test(x, y, "increasing-convex", resamples=50, seed=4) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("x", [np.array([1.0]), np.ones((2, 2))])
def test_samples_that_are_none_are_refused(x):
    with pytest.raises(ValueError, match="samples of at least 2"):
        metrics.order_test(x, SMALL, "stochastic")
    with pytest.raises(ValueError, match="confidence level"):
        metrics.relation(SMALL, LARGE, "stochastic", level=1)


def test_correlation_of_a_textbook_sample():
    x, y = [1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5]
    # Deviations (2.5, 1.5, 0.5) squared twice are 17.5; products add up to 14.5.
    r, low, high = metrics.correlation(x, y)
    assert r == pytest.approx(14.5 / 17.5)
    half = 1.959964 / math.sqrt(3)
    assert (low, high) == pytest.approx((math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)), rel=1e-6)


def test_correlations_that_say_little():
    assert metrics.correlation([1, 2, 4], [1, 3, 2])[1:] == (-1, 1)
    assert metrics.correlation([1, 2, 3, 4], [2, 4, 6, 8]) == (1, 1, 1)
    assert all(math.isnan(each) for each in metrics.correlation([1, 1, 1, 1], [1, 2, 3, 4]))
    with pytest.raises(ValueError, match="same length"):
        metrics.correlation([1], [1])
    with pytest.raises(ValueError, match="confidence level"):
        metrics.correlation([1, 2], [1, 2], level=0)
