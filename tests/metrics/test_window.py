"""The time between samples."""

import numpy as np
import pytest

from dumbbell.metrics import interval_s


def test_of_a_simulated_clock_it_is_exact_whatever_is_missing():
    times = np.arange(200) * 33_333_333 / 1e9
    assert interval_s(times) == pytest.approx(0.033333333, abs=1e-12)
    assert interval_s(np.delete(times, [1, 50, 51])) == pytest.approx(0.033333333, abs=1e-12)


def test_of_a_real_clock_it_is_a_number_of_three_digits():
    late = np.random.default_rng(1).exponential(2e-5, 500)
    assert interval_s(np.arange(500) * 0.05 + late) == 0.05
    assert interval_s(np.cumsum(0.1000011 + late)) == 0.1


def test_samples_of_one_time_have_none():
    assert interval_s(np.zeros(3)) == interval_s(np.empty(0)) == 1.0
