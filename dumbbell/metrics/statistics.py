"""Statistics over repeated runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np

from dumbbell.metrics.window import Array


def confidence_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float, float]:
    """Mean and its two-sided confidence limits (Student's t) over independent runs.

    With one value the limits are infinite: one run says nothing of the spread. ValueError on no value, or if all values are equal
    while there are several: identical runs are not independent, and an interval of width zero would be a lie.
    """
    if not 0 < level < 1:
        raise ValueError(f"a confidence level is between 0 and 1, not {level}")
    x = np.asarray(values, dtype=np.float64)
    if not x.size:
        raise ValueError("no values")
    centre = float(np.mean(x))
    if x.size == 1:
        return centre, -math.inf, math.inf
    deviation = float(np.std(x, ddof=1))
    if deviation == 0:
        raise ValueError("all values are equal: they are not independent")
    half = student_half_width(x.size - 1, level) * deviation / math.sqrt(x.size)
    return centre, centre - half, centre + half


@cache
def student_half_width(freedom: int, level: float = 0.95) -> float:
    """The half width, in standard errors, of a two-sided interval by Student's t with this many degrees of freedom.

    It solves for t the closed form that the distribution has for whole degrees of freedom (Abramowitz and Stegun, Handbook of Mathematical
    Functions, 26.7.3 and 26.7.4). `scipy.special` has the same numbers, but takes 0.2 s of CPU to import, which tables and figures save.
    """
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    t = NormalDist().inv_cdf(0.5 + level / 2)
    # The distribution is concave in t and this start lies below the solution, so that each step comes closer from below.
    while True:
        step = (level - _student_within(t, freedom)) / (2 * scale * math.pow(1 + t * t / freedom, -(freedom + 1) / 2))
        t += step
        if step <= 1e-15 * t:
            return t


def _student_within(t: float, freedom: int) -> float:
    """The probability that Student's t lies within -t and t."""
    angle = math.atan2(t, math.sqrt(freedom))
    cosine = math.cos(angle)
    odd = freedom % 2
    term, total = (cosine if odd else 1.0), 0.0
    for i in range(1 + odd, freedom, 2):
        total += term
        term *= cosine * cosine * i / (i + 1)
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total


def paired(differences: Array, level: float = 0.95) -> tuple[float, float, float]:
    """Confidence limits of the mean of paired differences, and the two-sided p-value (Student's t) of two or more of them."""
    count = len(differences)
    mean, error = float(np.mean(differences)), float(np.std(differences, ddof=1)) / math.sqrt(count)
    return _t_test(mean, error, count - 1, level)


def welch(x: Sequence[float] | Array, y: Sequence[float] | Array, level: float = 0.95) -> tuple[float, float, float]:
    """Confidence limits of mean(y) - mean(x), and the two-sided p-value, of samples of two values or more whose spreads may differ
    (B. L. Welch, Biometrika 34, 1947). If neither scatters the p-value is 0, or 1 for equal means."""
    parts = [float(np.var(each, ddof=1)) / len(each) for each in (x, y)]
    total = parts[0] + parts[1]
    difference = float(np.mean(y)) - float(np.mean(x))
    if not total:
        return difference, difference, 0.0 if difference else 1.0
    freedom = total**2 / math.fsum(part**2 / (len(each) - 1) for part, each in zip(parts, (x, y), strict=True))
    return _t_test(difference, math.sqrt(total), freedom, level)


def holm(probabilities: Sequence[float]) -> list[float]:
    """P-values of several tests, adjusted for their number (S. Holm, Scandinavian Journal of Statistics 6, 1979), in the order given."""
    adjusted, worst = [1.0] * len(probabilities), 0.0
    for rank, i in enumerate(sorted(range(len(probabilities)), key=lambda i: probabilities[i])):
        worst = max(worst, min(1.0, probabilities[i] * (len(probabilities) - rank)))
        adjusted[i] = worst
    return adjusted


def _t_test(mean: float, error: float, freedom: float, level: float) -> tuple[float, float, float]:
    from scipy import special

    half = float(special.stdtrit(freedom, 0.5 + level / 2)) * error
    return mean - half, mean + half, 2 * float(special.stdtr(freedom, -abs(mean / error)))


def median_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float, float]:
    """Return the median and its two-sided confidence limits, which are two of the values: for any distribution, the number of n independent
    runs that lie below the median is binomial (n, 1/2).

    The k-th smallest and the k-th largest value enclose it with probability 1 - 2 P(at most k - 1 of n lie below); k is the maximum for
    which that is at least `level`. Below six values there is none for 95 %, and the limits are infinite. Source: David and Nagaraja, Order
    Statistics (2003), section 7.1. ValueError on no value.
    """
    if not 0 < level < 1:
        raise ValueError(f"a confidence level is between 0 and 1, not {level}")
    x = np.sort(np.asarray(values, dtype=np.float64))
    if not x.size:
        raise ValueError("no values")
    from scipy import special  # slow to import, and few commands need it

    below = special.bdtr(np.arange((x.size + 1) // 2), x.size, 0.5)
    k = int(np.count_nonzero(1 - 2 * below >= level))
    centre = float(np.median(x))
    return (centre, float(x[k - 1]), float(x[x.size - k])) if k else (centre, -math.inf, math.inf)


def gaussian_ellipse(x: Array, y: Array) -> tuple[tuple[float, float], float, float, float]:
    """The ellipse of one standard deviation of the two-dimensional normal distribution that is the most likely for points.

    Centre, the two axes in full length, and the angle of the first, degrees; of the distribution 39 % lie inside. One point, or points on
    a line, give an ellipse without area. The covariance is that of the population (n in the denominator), which is the most likely one.
    """
    covariance = np.cov(np.stack([x, y]), ddof=0)
    sizes, directions = np.linalg.eigh(covariance)
    widths = 2 * np.sqrt(np.maximum(sizes, 0.0))
    return (
        (float(np.mean(x)), float(np.mean(y))),
        float(widths[1]),
        float(widths[0]),
        math.degrees(math.atan2(directions[1, 1], directions[0, 1])),
    )


def bootstrap_interval(
    values: Sequence[float], statistic: Callable[..., Any] = np.median, level: float = 0.95, resamples: int = 2000
) -> tuple[float, float, float]:
    """A statistic of independent runs and its two-sided percentile bootstrap limits.

    `statistic` takes an array and `axis`, as numpy's do. With one value the limits are infinite. The resampling has a seed of its own, so
    that equal values give equal limits. Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13. ValueError on
    no value.
    """
    if not 0 < level < 1:
        raise ValueError(f"a confidence level is between 0 and 1, not {level}")
    x = np.asarray(values, dtype=np.float64)
    if not x.size:
        raise ValueError("no values")
    centre = float(statistic(x, axis=0))
    if x.size == 1:
        return centre, -math.inf, math.inf
    drawn = np.random.default_rng(0).integers(0, x.size, (resamples, x.size))
    low, high = np.percentile(statistic(x[drawn], axis=1), [50 * (1 - level), 50 * (1 + level)])
    return centre, float(low), float(high)


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's rank correlation (ties get their mean rank): -1..1; NaN if either is constant."""
    if len(x) != len(y) or len(x) < 2:
        raise ValueError(f"two sequences of the same length of at least 2 are needed, not {len(x)} and {len(y)}")
    if len(set(x)) == 1 or len(set(y)) == 1:
        return math.nan
    from scipy import stats  # slow to import, and few commands need it

    return float(stats.spearmanr(x, y).statistic)


def correlation(x: Sequence[float], y: Sequence[float], level: float = 0.95) -> tuple[float, float, float]:
    """Pearson's correlation of pairs, and its two-sided confidence limits by Fisher's z (atanh r is normal with variance 1 / (n - 3)).

    NaN if either is constant. With fewer than four pairs the limits are -1 and 1. Source: Fisher, Statistical Methods for Research Workers
    (1925), section 35. ValueError on fewer than two pairs, or sequences that differ in length.
    """
    if not 0 < level < 1:
        raise ValueError(f"a confidence level is between 0 and 1, not {level}")
    if len(x) != len(y) or len(x) < 2:
        raise ValueError(f"two sequences of the same length of at least 2 are needed, not {len(x)} and {len(y)}")
    if len(set(x)) == 1 or len(set(y)) == 1:
        return math.nan, math.nan, math.nan
    r = min(1.0, max(-1.0, float(np.corrcoef(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))[0, 1])))
    if len(x) < 4:
        return r, -1.0, 1.0
    if abs(r) == 1:
        return r, r, r
    half = NormalDist().inv_cdf(0.5 + level / 2) / math.sqrt(len(x) - 3)
    return r, math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)
