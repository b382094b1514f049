import math

import numpy as np
import pytest

from dumbbell import metrics

TIMES = np.arange(5.0)


def test_mean_includes_both_ends_of_the_window_and_ignores_undefined_samples():
    series = (TIMES, np.array([math.nan, 1.0, 2.0, 3.0, 100.0]))
    assert metrics.mean(series) == pytest.approx(26.5)
    assert metrics.mean(series, 1, 3) == pytest.approx(2.0)


def test_mean_of_nothing_is_undefined():
    assert math.isnan(metrics.mean((TIMES, np.full(5, math.nan))))
    assert math.isnan(metrics.mean((TIMES, TIMES), 7))


def test_percentile_lies_between_order_statistics():
    series = (TIMES, np.array([10.0, 20.0, 30.0, 40.0, 50.0]))
    assert metrics.percentile(series, 50) == 30
    assert metrics.percentile(series, 95) == pytest.approx(48)
    assert metrics.percentile(series, 0, 2, 4) == 30


def test_percentile_out_of_range_is_an_error():
    with pytest.raises(ValueError, match="from 0 to 100"):
        metrics.percentile((TIMES, TIMES), 101)


def test_pooled_takes_all_series_in_all_windows():
    one, other = ((np.arange(4.0), np.array(values)) for values in ([10.0, 20, 30, 40], [1.0, 2, math.nan, 4]))
    assert sorted(metrics.pooled([one, other], [(0, 1), (3, 3)])) == [1, 2, 4, 10, 20, 40]
    assert metrics.pooled([], [(0, 1)]).size == 0


def test_binned_means_leave_empty_bins_undefined():
    found = metrics.binned((np.array([0.0, 0.4, 1.0, 3.5]), np.array([2.0, 4.0, 10.0, 7.0])), np.arange(5.0))
    assert list(found[:2]) == [3, 10]
    assert math.isnan(found[2])
    assert found[3] == 7
