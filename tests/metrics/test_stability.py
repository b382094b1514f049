import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dumbbell import metrics


def counter(times, values):
    return np.array(times, dtype=float), np.array(values, dtype=float)


def test_bits_of_each_second_from_a_counter():
    series = counter([0, 1, 2, 3, 4], [0, 100, 300, 300, 1000])
    assert metrics.bits_by_bin(series, 0, 4).tolist() == [800, 1600, 0, 5600]
    assert metrics.bits_by_bin(series, 1, 3).tolist() == [1600, 0]
    assert metrics.bits_by_bin(series, 0, 4, bin_s=2).tolist() == [2400, 5600]
    # The last bin would not be whole.
    assert metrics.bits_by_bin(series, 0, 3.5).tolist() == [800, 1600, 0]


def test_a_counter_is_zero_before_its_first_sample():
    assert metrics.bits_by_bin(counter([2, 3, 4], [50, 60, 80]), 0, 4).tolist() == [0, 400, 80, 160]


def test_edges_that_are_no_binary_fractions_meet_their_samples():
    times = np.arange(1, 21) * 100_000_000 / 1e9
    bits = metrics.bits_by_bin((times, np.arange(1.0, 21.0)), 0.3, 1.9, bin_s=0.1)
    assert bits.tolist() == [8.0] * 16


@pytest.mark.parametrize(
    ("start", "stop", "bin_s", "words"),
    [(0, 5, 1, "before the end"), (1, 1.5, 1, "no bin"), (0, 1, 0, "positive")],
)
def test_windows_that_are_none_are_refused(start, stop, bin_s, words):
    with pytest.raises(ValueError, match=words):
        metrics.bits_by_bin(counter([0, 1, 2], [0, 1, 2]), start, stop, bin_s)
    with pytest.raises(ValueError, match="empty"):
        metrics.bits_by_bin(counter([], []), 0, 1)


def test_link_utilisation():
    assert metrics.link_utilisation(np.array([300.0, 100.0]), 400) == 0.5
    assert metrics.link_utilisation(np.array([300.0, 100.0]), 100, bin_s=4) == 0.5
    with pytest.raises(ValueError, match="capacity"):
        metrics.link_utilisation(np.array([1.0]), 0)


def test_variation_of_flows_in_step_and_in_turn():
    together = np.array([[1.0, 3.0, 1.0, 3.0], [1.0, 3.0, 1.0, 3.0]])
    # The mean is 2 and the standard deviation 1, of each flow and, twice that, of both.
    assert metrics.aggregate_variation(together) == pytest.approx(0.5)
    assert metrics.flow_variation(together) == pytest.approx(0.5)
    assert metrics.synchronisation_index(together) == pytest.approx(2)
    in_turn = np.array([[1.0, 3.0, 1.0, 3.0], [3.0, 1.0, 3.0, 1.0]])
    assert metrics.aggregate_variation(in_turn) == 0
    assert metrics.synchronisation_index(in_turn) == 0


def test_variation_of_flows_that_differ():
    bits = np.array([[2.0, 4.0], [10.0, 10.0]])
    assert metrics.flow_variation(bits) == pytest.approx((1 / 3 + 0) / 2)
    assert metrics.aggregate_variation(bits) == pytest.approx(1 / 13)
    assert metrics.synchronisation_index(bits) == pytest.approx(2 * (6 / 13) ** 2)


def test_independent_flows_have_an_index_of_about_one():
    bits = np.random.default_rng(1).uniform(1, 2, (8, 20_000))
    assert metrics.synchronisation_index(bits) == pytest.approx(1, abs=0.05)


def test_nothing_varies_where_nothing_is_sent():
    assert math.isnan(metrics.aggregate_variation(np.zeros((2, 3))))
    assert math.isnan(metrics.synchronisation_index(np.ones((2, 3))))
    with pytest.raises(ValueError, match="flows and bins"):
        metrics.aggregate_variation(np.ones(3))


@given(arrays(float, st.tuples(st.integers(1, 5), st.integers(1, 20)), elements=st.floats(1, 1e9)))
def test_variation_does_not_depend_on_units(bits):
    for measure in (metrics.aggregate_variation, metrics.flow_variation):
        assert measure(8 * bits) == pytest.approx(measure(bits), abs=1e-9)


def test_loss_synchronisation():
    losing = np.array([[1, 1, 0, 0, 1, 0], [0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]], dtype=bool)
    # Two of three flows lose in the first event, one in the second.
    assert metrics.loss_synchronisation(losing) == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert metrics.loss_synchronisation(np.ones((4, 3), dtype=bool)) == 1
    assert math.isnan(metrics.loss_synchronisation(np.zeros((4, 3), dtype=bool)))
    with pytest.raises(ValueError, match="flows and bins"):
        metrics.loss_synchronisation(np.zeros(3, dtype=bool))


def test_queue_variation_has_a_window_without_its_end():
    backlog = counter([0, 1, 2, 3], [99, 2, 4, 99])
    assert metrics.queue_variation(backlog, 1, 3) == pytest.approx(1 / 3)
    assert math.isnan(metrics.queue_variation(counter([1], [0]), 0, 2))
    assert math.isnan(metrics.queue_variation(backlog, 5, 6))


def test_available_variation():
    # 8 and 4 are left of 10.
    assert metrics.available_variation(np.array([2.0, 6.0]), 10) == pytest.approx(1 / 3)
    assert metrics.available_variation(np.array([4.0, 12.0]), 10, bin_s=2) == pytest.approx(1 / 3)


def test_empirical_distribution():
    values, shares = metrics.distribution(np.array([3.0, 1.0, 3.0, 2.0]))
    assert values.tolist() == [1, 2, 3]
    assert shares.tolist() == [0.25, 0.5, 1]
    with pytest.raises(ValueError, match="no values"):
        metrics.distribution(np.empty(0))
