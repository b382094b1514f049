"""Windows: which samples of a series a metric uses."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Series: TypeAlias = tuple[Array, Array]
"""Times (s, increasing) and values of one sampled series, of the same length."""


def in_window(series: Series, start_s: float = 0.0, stop_s: float = math.inf) -> Series:
    """The samples with start_s <= t <= stop_s (both ends included), undefined values (NaN) left out."""
    t_s, values = series
    keep = (t_s >= start_s) & (t_s <= stop_s) & np.isfinite(values)
    return t_s[keep], values[keep]


def at(series: Series, t_s: float) -> tuple[float, float]:
    """The last sample at or before `t_s`: its time (s) and its value. ValueError if there is none."""
    times, values = series
    index = int(np.searchsorted(times, t_s, side="right")) - 1
    if index < 0:
        raise ValueError(f"no sample at or before {t_s} s")
    return float(times[index]), float(values[index])


def interval_s(times: Array) -> float:
    """Return the time between two samples; for samples that no simulated clock times, the median to three digits. 1 without any."""
    steps = np.diff(times)
    steps = steps[steps > 0]
    if not steps.size:
        return 1.0
    median = float(np.median(steps))
    apart = np.abs(steps - median)
    # Ten nanoseconds: times are sums of floats.
    return float(steps[np.argmax(apart < 1e-8)]) if float(np.median(apart)) < 1e-8 else float(f"{median:.3g}")
