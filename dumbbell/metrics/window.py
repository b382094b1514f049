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
