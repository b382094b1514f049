"""Capacity that varies: rates that hold from a time on, and opportunities to send a number of bytes."""

from __future__ import annotations

import math

import numpy as np

from dumbbell.metrics.throughput import BITS_PER_MBIT
from dumbbell.metrics.window import Array, Series


def mean_rate(steps: Series, start_s: float, stop_s: float) -> float:
    """Mean of a rate over a time, in its own unit.

    Args:
        steps: Times (s), not decreasing, and the rate from each on; the first at or before `start_s`.
        start_s: Begin of the time.
        stop_s: Its end, later than that, else ValueError.
    """
    if not start_s < stop_s:
        raise ValueError(f"no time between {start_s} s and {stop_s} s")
    times, rates = steps
    edges = np.append(times, math.inf).clip(start_s, stop_s)
    return float(np.sum(np.diff(edges) * rates) / (stop_s - start_s))


def opportunity_rate_mbit(at_s: Array, each_bytes: int, window_s: float, end_s: float) -> Series:
    """The mean rate (Mbit/s) of opportunities over windows of `window_s` from 0 to `end_s`, as the two ends of a step each.

    An opportunity at the end of a window belongs to it; the last window may be shorter.
    """
    edges = np.append(np.arange(0.0, end_s, window_s), end_s)
    edges[0] = -math.inf
    counts = np.diff(np.searchsorted(at_s, edges, side="right"))
    edges[0] = 0.0
    mbit = counts * each_bytes * 8 / np.diff(edges) / BITS_PER_MBIT
    return np.repeat(edges, 2)[1:-1], np.repeat(mbit, 2)


def drain_ms(at_s: Array, each_bytes: int, waiting: Series) -> Array:
    """Return how long (ms) the last of the waiting bytes at each time (s, bytes) waits for its opportunity; NaN where the opportunities end
    before."""
    times, waiting_bytes = waiting
    needed = np.ceil(waiting_bytes / each_bytes).astype(int)
    position = np.searchsorted(at_s, times, side="right") + needed - 1
    out = at_s[position.clip(0, max(len(at_s) - 1, 0))] if len(at_s) else np.full(len(times), math.nan)
    return np.where(needed == 0, 0.0, np.where(position < len(at_s), (out - times) * 1e3, math.nan))
