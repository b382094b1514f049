"""Steadiness of a link and its flows: utilisation, and coefficients of variation of the bytes that leave the bottleneck's queue in equal
bins.

The terms are those of RFC 5166 (section 2.1: link utilisation and throughput; 2.3: minimising oscillations, by the coefficient of variation
over a time scale). CoV-PTA and CoV-PTP, of the transmission aggregated over flows and of each flow, are those of Cai, Eun, Ha, Rhee and Xu,
"Stochastic Ordering for Internet Congestion Control" (NCSU, 2007), which takes bins of one second at the bottleneck's egress. Standard
deviations are those of the population.
"""

from __future__ import annotations

import math

import numpy as np

from dumbbell.metrics.fairness import coefficient_of_variation
from dumbbell.metrics.window import Array, Flags, Series, in_window

_HALF_NS = 5e-10
"""Edges of bins are sums of floats, samples whole nanoseconds."""


def bits_by_bin(cumulative_bytes: Series, start_s: float, stop_s: float, bin_s: float = 1.0) -> Array:
    """Bits in each bin [start_s + k bin_s, start_s + (k + 1) bin_s), shape (bins,): whole bins within [start_s, stop_s).

    Args:
        cumulative_bytes: A counter, which is 0 before its first sample. The value at an edge is that of the last sample at or before it, so
            that bins are exact where edges fall on samples.
        start_s: Begin of the window.
        stop_s: Its end.
        bin_s: Length of a bin.

    Raises ValueError if the window holds no bin, or goes on after the last sample.
    """
    if bin_s <= 0:
        raise ValueError(f"a bin must be positive, not {bin_s} s")
    bins = math.floor((stop_s - start_s) / bin_s + 1e-9)
    if bins < 1:
        raise ValueError(f"no bin of {bin_s} s between {start_s} s and {stop_s} s")
    edges = start_s + bin_s * np.arange(bins + 1)
    times, values = in_window(cumulative_bytes)
    if not times.size or times[-1] < edges[-1] - _HALF_NS:
        last = f"ends at {times[-1]} s" if times.size else "is empty"
        raise ValueError(f"the counter {last}, before the end of the window at {edges[-1]} s")
    counted = np.concatenate([[0.0], values])[np.searchsorted(times, edges + _HALF_NS, side="right")]
    bits: Array = 8 * np.diff(counted)
    return bits


def link_utilisation(bits: Array, capacity_bps: float, bin_s: float = 1.0) -> float:
    """Return the share of the capacity that is used over the window of `bits`, all traffic counted: mean_k(B_k) / (C bin), 0..1.

    Args:
        bits: Bits that left the link in each bin, shape (bins,).
        capacity_bps: Of the link, bit/s, counted as the bits are.
        bin_s: Length of a bin.

    Source: RFC 5166, section 2.1.1.
    """
    if capacity_bps <= 0:
        raise ValueError(f"a capacity must be positive, not {capacity_bps}")
    return float(np.mean(bits)) / (capacity_bps * bin_s)


def aggregate_variation(bits: Array) -> float:
    """Return CoV-PTA: sd_k(sum_i r_i(k)) / mean_k(sum_i r_i(k)) over the window of `bits`; NaN if nothing was sent.

    Args:
        bits: r_i(k), the bits that each flow sent in each bin, shape (flows, bins).
    """
    return coefficient_of_variation(list(_flows(bits).sum(axis=0)))


def flow_variation(bits: Array) -> float:
    """Return CoV-PTP: the mean over flows of sd_k(r_i(k)) / mean_k(r_i(k)) over the window of `bits`; NaN if a flow sent nothing.

    Args:
        bits: r_i(k), the bits that each flow sent in each bin, shape (flows, bins).
    """
    return float(np.mean([coefficient_of_variation(list(each)) for each in _flows(bits)]))


def synchronisation_index(bits: Array) -> float:
    """Return S = n (CoV-PTA / CoV-PTP)^2 of n flows: 1 if they are equal and independent, n if they rise and fall together; NaN without
    variation.

    Args:
        bits: r_i(k), the bits that each flow sent in each bin, shape (flows, bins).

    For n equal independent flows CoV-PTA is CoV-PTP / sqrt(n); flows that yield to each other have less than 1.
    """
    each = flow_variation(bits)
    return len(bits) * (aggregate_variation(bits) / each) ** 2 if each > 0 else math.nan


def loss_synchronisation(losing: Flags) -> float:
    """Return the mean over congestion events of the share of flows that lose packets in the event: 1/n..1 for n flows; NaN if there is no
    event.

    Args:
        losing: True where a flow lost a packet in a bin, shape (flows, bins). An event is a longest run of bins in which some flow did;
            bins should be about as long as a round trip.
    """
    if losing.ndim != 2 or not losing.shape[0]:
        raise ValueError(f"an array of flows and bins is needed, not one of shape {losing.shape}")
    some: Flags = np.any(losing, axis=0)
    begins = np.flatnonzero(some & ~np.concatenate([[False], some[:-1]]))
    if not begins.size:
        return math.nan
    # Bins between two events are all false, so that they may belong to the one before.
    return float(np.mean(np.logical_or.reduceat(losing, begins, axis=1).mean(axis=0)))


def queue_variation(backlog: Series, start_s: float, stop_s: float) -> float:
    """CoV of the samples of a queue's length within [start_s, stop_s), in any unit; NaN if there is none, or the queue is always empty."""
    times, values = in_window(backlog, start_s, stop_s)
    found = values[times < stop_s - _HALF_NS]
    return coefficient_of_variation(list(found)) if found.size else math.nan


def available_variation(bits: Array, capacity_bps: float, bin_s: float = 1.0) -> float:
    """Return the CoV of the bandwidth that traffic leaves to others: sd_k(C - B_k) / mean_k(C - B_k) over the window of `bits`.

    Args:
        bits: B_k, the bits that the traffic sent in each bin while it was alone, shape (bins,).
        capacity_bps: C, of the link, bit/s, counted as the bits are.
        bin_s: Length of a bin.
    """
    return coefficient_of_variation(list(capacity_bps * bin_s - bits))


def distribution(values: Array) -> tuple[Array, Array]:
    """The empirical distribution function: the values that occur, rising, and the share of all that are no larger; each of shape (values,).

    Equal values are one.
    """
    if not values.size:
        raise ValueError("no values")
    found, counts = np.unique(values, return_counts=True)
    return found, np.cumsum(counts) / values.size


def _flows(bits: Array) -> Array:
    if bits.ndim != 2 or not bits.size:
        raise ValueError(f"an array of flows and bins is needed, not one of shape {bits.shape}")
    return bits
