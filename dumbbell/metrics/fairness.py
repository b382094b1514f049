"""How evenly a quantity is shared."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


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


def coefficient_of_variation(values: Sequence[float]) -> float:
    """Standard deviation (of the population, n in the denominator) over the mean; NaN if the mean is zero."""
    x = np.asarray(values, dtype=np.float64)
    if not x.size:
        raise ValueError("no values")
    centre = float(np.mean(x))
    return float(np.std(x)) / centre if centre else math.nan
