"""Means and percentiles of a sampled series, uniform in time (each sample has the same weight, whatever the traffic)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dumbbell.metrics.window import Series, in_window


def mean(series: Series, start_s: float = 0.0, stop_s: float = math.inf) -> float:
    """Mean of the samples in [start_s, stop_s], in the series' unit; NaN if there is none.

    Of `srtt_ms` this is what a reader of `ss -ti` at a fixed interval gets.
    """
    values = in_window(series, start_s, stop_s)[1]
    return float(np.mean(values)) if values.size else math.nan


def percentile(series: Series, q: float, start_s: float = 0.0, stop_s: float = math.inf) -> float:
    """The q-th percentile (0..100, linear between order statistics) of the samples in [start_s, stop_s]; NaN if there is none."""
    if not 0 <= q <= 100:
        raise ValueError(f"a percentile is from 0 to 100, not {q}")
    values = in_window(series, start_s, stop_s)[1]
    return float(np.percentile(values, q)) if values.size else math.nan


def queueing_delay_ms(backlog_packets: NDArray[np.float64], departures_per_s: float) -> float:
    """Mean time that packets wait in a queue, ms, by Little's law: mean of the backlog's samples over the rate of departures."""
    return float(np.mean(backlog_packets)) / departures_per_s * 1e3
