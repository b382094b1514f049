import math

import numpy as np
import pytest

from dumbbell import metrics

TIMES = np.arange(5.0)


def test_mean_has_both_ends_of_the_window_and_no_undefined_samples():
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
