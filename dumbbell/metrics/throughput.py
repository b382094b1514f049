"""Rates from cumulative byte counters. 1 Mbit/s is 1e6 bit/s."""

from __future__ import annotations

import math

import numpy as np

from dumbbell.metrics.window import Array, Series, at

BITS_PER_MBIT = 1e6
NS_PER_S = 1e9


def elapsed_throughput_mbit(payload_bytes: int, elapsed_ns: int) -> float:
    """Return payload over elapsed time, Mbit/s: netperf prints this number for a whole transfer, start-up included."""
    if elapsed_ns <= 0:
        raise ValueError(f"the elapsed time must be positive, not {elapsed_ns} ns")
    return payload_bytes * 8 / (elapsed_ns / NS_PER_S) / BITS_PER_MBIT


def throughput_mbit(cumulative_bytes: Series, start_s: float = 0.0, stop_s: float = math.inf) -> float:
    """Mean rate (Mbit/s) between the last samples at or before `start_s` and `stop_s`.

    The time divided by is the time between these two samples, so the rate is exact when the window does not fall on samples.
    ValueError if the window holds no time.
    """
    t0, bytes0 = at(cumulative_bytes, start_s)
    t1, bytes1 = at(cumulative_bytes, stop_s)
    if t1 <= t0:
        raise ValueError(f"no time between the samples at {t0} s and {t1} s")
    return (bytes1 - bytes0) * 8 / (t1 - t0) / BITS_PER_MBIT


def window_throughput_mbit(cumulative_bytes: Series, window_s: float, ends_s: Array) -> Array:
    """Return mean rates (Mbit/s) over the windows [end - window_s, end], shape of `ends_s`; NaN where the samples do not cover a window.

    Each rate is between two samples, the last at or before either edge, as in `throughput_mbit`.
    """
    if window_s <= 0:
        raise ValueError(f"a window must be positive, not {window_s} s")
    times, values = cumulative_bytes
    rates = np.full(ends_s.shape, math.nan)
    if not times.size:
        return rates
    # Half a nanosecond: the edges are sums of floats, the samples whole nanoseconds.
    edges = [np.searchsorted(times, edge + 5e-10, side="right") - 1 for edge in (ends_s - window_s, ends_s)]
    covered = (edges[0] >= 0) & (edges[1] > edges[0]) & (ends_s <= times[-1] + 5e-10)
    first, last = (edge[covered] for edge in edges)
    rates[covered] = (values[last] - values[first]) * 8 / (times[last] - times[first]) / BITS_PER_MBIT
    return rates


def delivered_bytes(delivered: Series, received: Series, most_bytes: float) -> Series:
    """Return the payload of the segments that a sender knows to be delivered, by ACK or SACK, as a cumulative series.

    In contrast to the bytes that an application has read, it does not wait for what was lost before it, and so grows no faster than the
    bottleneck sends. A segment has the mean payload of the flow's, but no more than `most_bytes`: the receiver is ahead of the ACKs.
    """
    (t_s, segments), (_, values) = delivered, received
    mean = values[-1] / segments[-1] if len(segments) and len(values) and segments[-1] > 0 else math.inf
    return t_s, segments * min(float(mean), most_bytes)


def sliding_throughput_mbit(cumulative_bytes: Series, window_s: float, step_s: float) -> Series:
    """Mean rates (Mbit/s) over windows [t - window_s, t] for t = window_s, window_s + step_s, ..., at their ends (s)."""
    if window_s <= 0 or step_s <= 0:
        raise ValueError(f"window and step must be positive, not {window_s} s and {step_s} s")
    times = cumulative_bytes[0]
    if not times.size or times[-1] - times[0] < window_s:
        return np.empty(0), np.empty(0)
    count = math.floor((times[-1] - times[0] - window_s) / step_s + 1e-9) + 1
    ends = times[0] + window_s + step_s * np.arange(count)
    return ends, window_throughput_mbit(cumulative_bytes, window_s, ends)


def utilisation(throughput: float, capacity: float) -> float:
    """Throughput over capacity (same unit): 0..1."""
    if capacity <= 0:
        raise ValueError(f"a capacity must be positive, not {capacity}")
    return throughput / capacity


def first_increase(cumulative: Series) -> float:
    """Return the time (s) of the first sample at which a counter is above zero; NaN if it never is. The time is as coarse as the
    sampling."""
    t_s, values = cumulative
    above = np.flatnonzero(values > 0)
    return float(t_s[above[0]]) if above.size else math.nan
