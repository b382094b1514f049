import math

import numpy as np
import pytest

from dumbbell import metrics

TIMES = np.arange(0, 10.01, 0.5)
STEADY = (TIMES, TIMES * 1e6 / 8)
"""1 Mbit/s from the start."""


def test_elapsed_throughput_is_payload_over_time():
    assert metrics.elapsed_throughput_mbit(358_650_000, 300 * 10**9) == pytest.approx(9.564)


def test_no_elapsed_time_is_an_error():
    with pytest.raises(ValueError, match="must be positive"):
        metrics.elapsed_throughput_mbit(1, 0)


def test_throughput_of_a_window_between_samples_divides_by_the_time_between_the_samples_used():
    ramp = (TIMES, TIMES**2 * 1e6 / 8)
    # Samples at 2.0 and 4.0: (16 - 4) Mbit over 2 s.
    assert metrics.throughput_mbit(ramp, 2.3, 4.4) == pytest.approx(6.0)


def test_throughput_by_default_covers_everything():
    assert metrics.throughput_mbit(STEADY) == pytest.approx(1.0)


def test_a_window_that_starts_before_the_samples_is_an_error():
    with pytest.raises(ValueError, match="no sample at or before"):
        metrics.throughput_mbit((TIMES + 5, TIMES), 1, 8)


def test_a_window_within_one_sample_is_an_error():
    with pytest.raises(ValueError, match="no time between"):
        metrics.throughput_mbit(STEADY, 1.1, 1.4)


def test_sliding_windows_end_where_they_say_and_see_a_step():
    step = (TIMES, np.where(TIMES <= 5, 0.0, (TIMES - 5) * 1e6 / 8))
    ends, rates = metrics.sliding_throughput_mbit(step, window_s=1.0, step_s=0.5)
    assert ends[0] == 1.0
    assert ends[-1] == 10.0
    assert len(ends) == 19
    assert dict(zip(ends, rates, strict=True))[5.0] == 0
    assert dict(zip(ends, rates, strict=True))[5.5] == pytest.approx(0.5)
    assert rates[-1] == pytest.approx(1.0)


def test_sliding_windows_longer_than_the_run_give_nothing():
    ends, rates = metrics.sliding_throughput_mbit(STEADY, window_s=11, step_s=1)
    assert len(ends) == len(rates) == 0


def test_sliding_windows_allow_for_rounding_of_the_step():
    times = np.arange(0, 601) * 0.1
    _, rates = metrics.sliding_throughput_mbit((times, times * 1e6 / 8), window_s=0.5, step_s=0.1)
    assert rates == pytest.approx(np.ones(len(rates)), rel=1e-6)


def test_utilisation():
    assert metrics.utilisation(9.564, 10) == pytest.approx(0.9564)
    with pytest.raises(ValueError, match="capacity"):
        metrics.utilisation(1, 0)


def test_first_increase():
    assert metrics.first_increase((TIMES, np.where(TIMES < 3, 0.0, 7.0))) == 3.0
    assert math.isnan(metrics.first_increase((TIMES, np.zeros(len(TIMES)))))


def test_windows_at_given_ends_are_undefined_where_the_samples_do_not_cover_them():
    found = metrics.window_throughput_mbit(STEADY, 2.0, np.array([1.5, 2.0, 7.25, 10.0, 10.5]))
    assert math.isnan(found[0])
    assert math.isnan(found[4])
    assert list(found[1:4]) == [pytest.approx(1.0)] * 3
    assert np.isnan(metrics.window_throughput_mbit((np.empty(0), np.empty(0)), 2.0, np.array([1.0]))).all()
    with pytest.raises(ValueError, match="must be positive"):
        metrics.window_throughput_mbit(STEADY, 0, TIMES)


def test_sliding_windows_are_windows_at_their_ends():
    ramp = (TIMES, TIMES**2)
    ends, rates = metrics.sliding_throughput_mbit(ramp, 1.0, 0.5)
    assert list(rates) == [metrics.throughput_mbit(ramp, end - 1, end) for end in ends]
