"""Tests of stochastic orders on two samples: is one random quantity larger, or more variable, than another?

The orders are those of Shaked and Shanthikumar, Stochastic Orders (2007): X is below Y in the

- stochastic order if F_X(t) >= F_Y(t) for all t: Y is larger (section 1.A);
- increasing convex order if E max(X - t, 0) <= E max(Y - t, 0) for all t: Y is larger or more variable (4.A);
- dilation order if X - E X is below Y - E Y in the convex order: Y is more variable, whatever its mean (3.A.31).

Each is a condition D(t) <= 0 for all t, and the statistic is the maximum of D in the samples. Its distribution where the order just holds
comes from a bootstrap of both samples in which D is recentred (Barrett and Donald, Consistent tests for stochastic dominance, 2003;
resampled in blocks, Linton, Maasoumi and Whang 2005, because samples over time are not independent).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dumbbell.metrics.window import Array

Order = Literal["stochastic", "increasing-convex", "dilation"]
Relation = Literal["below", "above", "equal", "neither"]
_GRID = 200
"""Values t at which D is looked at: quantiles of both samples together."""


@dataclass(frozen=True)
class OrderTest:
    """The test of "X is below Y" in an order."""

    order: Order
    violation: float
    """The largest D(t) in the samples, at least 0: a share for the stochastic order, else in the unit of the samples."""
    p_value: float
    """Probability of so large a violation where the order just holds. If it is small, X is not below Y."""


def order_test(x: Array, y: Array, order: Order, *, block: int = 1, resamples: int = 1000, seed: int = 0) -> OrderTest:
    """Test the hypothesis that X is below Y.

    Args:
        x: Sample of X, shape (n,), over the same kind of window as `y`.
        y: Sample of Y, shape (m,).
        order: The order.
        block: Length of the blocks that are resampled together (circularly); 1 for independent samples.
        resamples: Of the bootstrap.
        seed: Of the bootstrap: equal samples give equal results.

    Raises ValueError on samples of fewer than 2 values, or shorter than a block.
    """
    for sample in (x, y):
        if sample.ndim != 1 or sample.size < 2 or not 1 <= block <= sample.size:
            raise ValueError(f"samples of at least 2 values, and of a block of {block}, are needed, not one of shape {sample.shape}")
    grid = _grid(x, y, order)
    observed = _exceeds(x, y, order, grid)
    rng = np.random.default_rng(seed)
    root = np.sqrt(x.size * y.size / (x.size + y.size))
    found = root * max(float(observed.max()), 0.0)
    drawn = [
        root * max(float((_exceeds(_resampled(x, block, rng), _resampled(y, block, rng), order, grid) - observed).max()), 0.0)
        for _ in range(resamples)
    ]
    # The sample itself counts as one of those drawn (Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 4.2).
    at_least = sum(value >= found for value in drawn)
    return OrderTest(order, found / float(root), (1 + at_least) / (1 + resamples))


def relation(x: Array, y: Array, order: Order, *, level: float = 0.95, block: int = 1, resamples: int = 1000, seed: int = 0) -> Relation:
    """Return the relation of X to Y in an order, by tests in both directions at a confidence level; arguments as of `order_test`.

    `below` and `above`: only the other direction is refuted; `equal`: neither is; `neither`: both are.
    """
    if not 0 < level < 1:
        raise ValueError(f"a confidence level is between 0 and 1, not {level}")
    below, above = (
        order_test(first, second, order, block=block, resamples=resamples, seed=seed).p_value > 1 - level
        for first, second in ((x, y), (y, x))
    )
    if below and above:
        return "equal"
    return "below" if below else "above" if above else "neither"


def _grid(x: Array, y: Array, order: Order) -> Array:
    both = np.concatenate([_centred(x, order), _centred(y, order)])
    grid: Array = np.unique(np.quantile(both, np.linspace(0, 1, min(_GRID, both.size)), method="inverted_cdf"))
    return grid


def _exceeds(x: Array, y: Array, order: Order, grid: Array) -> Array:
    """D(t) on a grid, shape (grid,): by how much X is not below Y."""
    x, y = np.sort(_centred(x, order)), np.sort(_centred(y, order))
    if order == "stochastic":
        stochastic: Array = np.searchsorted(y, grid, side="right") / y.size - np.searchsorted(x, grid, side="right") / x.size
        return stochastic
    return _stop_loss(x, grid) - _stop_loss(y, grid)


def _stop_loss(rising: Array, grid: Array) -> Array:
    """E max(X - t, 0) of a sorted sample on a grid."""
    first = np.searchsorted(rising, grid, side="right")
    above = np.concatenate([np.cumsum(rising[::-1])[::-1], [0.0]])[first]
    found: Array = (above - (rising.size - first) * grid) / rising.size
    return found


def _centred(sample: Array, order: Order) -> Array:
    return sample - sample.mean() if order == "dilation" else sample


def _resampled(sample: Array, block: int, rng: np.random.Generator) -> Array:
    if block == 1:
        found: Array = sample[rng.integers(0, sample.size, sample.size)]
        return found
    starts = rng.integers(0, sample.size, -(-sample.size // block))
    places = (starts[:, None] + np.arange(block)).ravel()[: sample.size] % sample.size
    blocks: Array = sample[places]
    return blocks
