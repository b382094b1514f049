"""Bytes that flows received in each step of a time axis. The samples need not lie on the axis. It goes from the start of a flow to its
end."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from dumbbell.metrics import Array, Series
from dumbbell.metrics.throughput import BITS_PER_MBIT

LEAST_STEP_S = 0.2
"""Flent's default STEP_SIZE."""


def end_to_end(series: Series, start_s: float, end_s: float, total: int | None) -> Series:
    """Samples of received bytes, with nothing at the start and all of it at the end."""
    t_s, values = series
    if t_s[0] > start_s:
        t_s, values = np.insert(t_s, 0, start_s), np.insert(values, 0, 0.0)
    if t_s[-1] < end_s and total is not None:
        t_s, values = np.append(t_s, end_s), np.append(values, float(total))
    return t_s, values


def common_step_s(received: Iterable[Series]) -> float:
    """The fewest whole intervals of samples that are no shorter than `LEAST_STEP_S`."""
    sample_s = min((float(np.median(np.diff(times))) for times, _ in received if len(times) > 1), default=math.inf)
    return round(sample_s * max(1, math.ceil(LEAST_STEP_S / sample_s - 1e-9)), 9) if 0 < sample_s < math.inf else LEAST_STEP_S


def megabits(received: Series, at_s: Array) -> Array:
    """Return payload (Mbit) that was received up to some times: payload between two samples counts as received evenly."""
    t_s, values = received
    found: Array = np.interp(at_s, t_s, values * 8 / BITS_PER_MBIT)
    return found


def rates_mbit(received: Series, start_s: float, end_s: float, edges_s: Array) -> Array:
    """Mean rates (Mbit/s) between edges, shape (edges - 1,); NaN where nothing of the flow's time is, nor a later sample."""
    rates = np.diff(megabits(received, edges_s)) / np.diff(edges_s)
    until_s = max(end_s, float(received[0][-1]))
    return np.where((edges_s[1:] > start_s) & (edges_s[:-1] < until_s), rates, np.nan)
