"""Fairness: the evenness of shares of a quantity."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dumbbell.metrics.window import Array, Series


def jain(shares: Sequence[float]) -> float:
    """Jain's fairness index (sum x)^2 / (n sum x^2): 1 when equal, 1/n when one has all; NaN if all are zero.

    Source: Jain, Chiu, Hawe, DEC-TR-301 (1984).
    """
    x = np.asarray(shares, dtype=np.float64)
    if not x.size:
        raise ValueError("no shares")
    if np.any(x < 0):
        raise ValueError("a share cannot be negative")
    squares = float(np.sum(x * x))
    return float(np.sum(x)) ** 2 / (x.size * squares) if squares > 0 else math.nan


def harm(alone: float, together: float, more_is_better: bool = True) -> float:
    """Return the share of a flow's performance that a competitor takes: 0 without harm, 1 with nothing left, below 0 if it gains.

    It is (alone - together) / alone where more is better (goodput), and (together - alone) / together where less is (delay).
    Source: Ware, Mukerjee, Seshan, Sherry, "Beyond Jain's Fairness Index: Setting the Bar For The Deployment of Congestion Control
    Algorithms", HotNets 2019.

    Args:
        alone: The metric of the flow without the competitor, not below 0.
        together: The same next to the competitor.
        more_is_better: False for delays, losses and times.
    """
    if alone < 0 or together < 0:
        raise ValueError("a metric of which harm is computed cannot be negative")
    whole, lost = (alone, alone - together) if more_is_better else (together, together - alone)
    return lost / whole if whole > 0 else math.nan


def jain_by_step(rates: Array) -> Array:
    """Jain's index at each step, shape (steps,), of rates of shape (flows, steps); a flow that is not active has NaN there.

    Only the active flows count; NaN where none is, or all are zero.
    """
    active = np.isfinite(rates)
    x = np.where(active, rates, 0.0)
    squares = active.sum(axis=0) * (x * x).sum(axis=0)
    found: Array = np.divide(x.sum(axis=0) ** 2, squares, out=np.full(rates.shape[1], math.nan), where=squares > 0)
    return found


def coefficient_of_variation(values: Sequence[float]) -> float:
    """Standard deviation (of the population, n in the denominator) over the mean; NaN if the mean is zero."""
    x = np.asarray(values, dtype=np.float64)
    if not x.size:
        raise ValueError("no values")
    centre = float(np.mean(x))
    return float(np.std(x)) / centre if centre else math.nan


def time_to_fair_share(rate: Series, fair: float, start_s: float, level: float = 0.9) -> float:
    """Time (s) from `start_s` to the end of the first window after it whose rate is at least `level` times the fair one; NaN if none is.

    `rate`: ends of windows (s) and the rates in them, in the unit of `fair`; windows that begin before `start_s` are the caller's to leave
    out.
    """
    times, rates = rate
    reached = np.flatnonzero((times > start_s) & (rates >= level * fair))
    return float(times[reached[0]]) - start_s if reached.size else math.nan
