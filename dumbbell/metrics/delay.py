"""Means and percentiles of a sampled series, uniform in time (each sample has the same weight, whatever the traffic)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dumbbell.metrics.window import Array, Series, in_window


def mean(series: Series, start_s: float = 0.0, stop_s: float = math.inf) -> float:
    """Return the mean of the samples in [start_s, stop_s], in the series' unit; NaN if there is none.

    For `srtt_ms` this is the number that a reader of `ss -ti` at a fixed interval gets.
    """
    values = in_window(series, start_s, stop_s)[1]
    return float(np.mean(values)) if values.size else math.nan


def percentile(series: Series, q: float, start_s: float = 0.0, stop_s: float = math.inf) -> float:
    """The q-th percentile (0..100, linear between order statistics) of the samples in [start_s, stop_s]; NaN if there is none."""
    if not 0 <= q <= 100:
        raise ValueError(f"a percentile is from 0 to 100, not {q}")
    values = in_window(series, start_s, stop_s)[1]
    return float(np.percentile(values, q)) if values.size else math.nan


def queueing_delay_ms(backlog_packets: Array, departures_per_s: float) -> float:
    """Mean time that packets wait in a queue, ms, by Little's law: mean of the backlog's samples over the rate of departures."""
    return float(np.mean(backlog_packets)) / departures_per_s * 1e3


def pooled(several: Sequence[Series], windows: Sequence[tuple[float, float]]) -> Array:
    """The values of several series (of all flows, say) in any of the windows (s, both ends included), in one array."""
    parts = [in_window(series, start_s, stop_s)[1] for series in several for start_s, stop_s in windows]
    return np.concatenate(parts) if parts else np.empty(0)


def binned(series: Series, edges_s: Array) -> Array:
    """Mean of the samples in each bin [edge, next edge), shape (edges - 1,); NaN where there is none."""
    times, values = in_window(series)
    first = np.searchsorted(times, edges_s, side="left")
    sums = np.concatenate([[0.0], np.cumsum(values)])[first]
    counts = np.diff(first)
    means: Array = np.divide(np.diff(sums), counts, out=np.full(len(edges_s) - 1, math.nan), where=counts > 0)
    return means
