import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell import metrics

STEP = 0.02


def sampled(values):
    return STEP * np.arange(len(values)), np.asarray(values, dtype=float)


def nowhere(values):
    return np.zeros(len(values), dtype=bool)


def test_a_halving_is_one_reduction():
    values = [100.0] * 20 + [50.0] * 20
    (found,) = metrics.reductions(sampled(values), nowhere(values), 0.1)
    assert (found.before, found.after) == (100, 50)
    assert found.start_s == pytest.approx(20 * STEP)


def test_a_recovery_episode_counts_once_however_the_window_moves_in_it():
    # Like FreeBSD's SACK recovery: cwnd of one segment, inflation, a partial ACK, ssthresh at the end.
    values = [600.0] * 20 + [1.4, 40, 90, 60, 150, 100, 200] + [300.0] * 20
    recovering = np.array([False] * 20 + [True] * 7 + [False] * 20)
    (found,) = metrics.reductions(sampled(values), recovering, 0.1)
    assert (found.before, found.after) == (600, 300)
    assert found.end_s == pytest.approx(27 * STEP)


def test_two_episodes_in_quick_succession_are_two_reductions():
    values = [600.0] * 20 + [300.0] * 12 + [150.0] * 20
    recovering = np.array([False] * 20 + [True] * 10 + [False] * 2 + [True] * 10 + [False] * 10)
    found = metrics.reductions(sampled(values), recovering, 0.4)
    assert [(each.before, each.after) for each in found] == [(600, 300), (300, 150)]
    assert metrics.initial_reductions(found, 3.0) == found
    assert metrics.initial_reductions(found, 0.1) == found[:1]


def test_neither_a_slow_decline_nor_a_small_fall_is_a_reduction():
    slow = np.linspace(100, 40, 200)
    assert metrics.reductions(sampled(slow), nowhere(slow), 0.1) == []
    small = np.array([100.0] * 20 + [85.0] * 20)
    assert metrics.reductions(sampled(small), nowhere(small), 0.1) == []
    assert metrics.reductions(sampled(small), nowhere(small), 0.1, least=0.1)


def test_an_episode_without_reduction_does_not_count():
    values = [100.0] * 40
    recovering = np.array([False] * 10 + [True] * 10 + [False] * 20)
    assert metrics.reductions(sampled(values), recovering, 0.1) == []


def test_an_episode_that_does_not_end_does_not_count():
    values = [100.0] * 20 + [10.0] * 5
    recovering = np.array([False] * 20 + [True] * 5)
    assert metrics.reductions(sampled(values), recovering, 0.1) == []
    assert metrics.reductions(sampled([]), nowhere([]), 0.1) == []


@given(st.lists(st.floats(1, 1000), min_size=1, max_size=120), st.data())
def test_reductions_are_ordered_disjoint_and_decreasing(values, data):
    recovering = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))))
    found = metrics.reductions(sampled(values), recovering, 0.1)
    assert all(each.after <= 0.8 * each.before for each in found)
    assert all(each.start_s < each.end_s for each in found)
    assert all(one.end_s <= other.start_s for one, other in itertools.pairwise(found))


@given(st.lists(st.floats(1, 1000), min_size=2, max_size=60), st.floats(0.1, 10))
def test_reductions_do_not_depend_on_units(values, scale):
    once = metrics.reductions(sampled(values), nowhere(values), 0.1)
    again = metrics.reductions(sampled(np.asarray(values) * scale), nowhere(values), 0.1)
    # A fall of exactly 20 % may round either way.
    exact = any(abs(v / w - 0.8) < 1e-9 for v in values for w in values)
    assert exact or [each.start_s for each in once] == [each.start_s for each in again]


def test_congestion_avoidance_begins_where_the_window_is_back_at_the_threshold():
    # Like FreeBSD at the end of recovery: cwnd is below ssthresh, and slow start raises it to ssthresh.
    cwnd = sampled([100, 600, 1.4, 50, 300, 140, 200, 299, 301, 302])
    ssthresh = sampled([np.nan, np.nan] + [300.0] * 8)
    recovering = np.array([False] * 2 + [True] * 3 + [False] * 5)
    assert metrics.avoidance_start(cwnd, ssthresh, recovering, 0.0) == 301
    assert metrics.avoidance_start(cwnd, ssthresh, recovering, 9 * STEP) == 302
    assert np.isnan(metrics.avoidance_start(cwnd, ssthresh, recovering, 10 * STEP))


def test_bursts_of_drops():
    times = np.arange(0, 10, 0.5)
    counter = np.zeros(len(times))
    for at in (2, 3, 12):
        counter[at:] += 4
    assert metrics.bursts((times, counter), 1.0) == [(1.0, 1.5), (6.0, 6.0)]
    assert metrics.bursts((times, counter), 5.0) == [(1.0, 6.0)]
    assert metrics.bursts((times, np.zeros(len(times))), 1.0) == []
