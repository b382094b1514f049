"""Behaviour of a congestion window over time: reductions, and where congestion avoidance begins; bursts of drops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dumbbell.metrics.window import Array, Flags, Series


@dataclass(frozen=True)
class Reduction:
    """One reduction of the window, in the unit of the series."""

    start_s: float
    """First sample of the recovery episode, or of the fall where there is none."""
    end_s: float
    """First sample after it."""
    before: float
    """Greatest window within the RTT before the start."""
    after: float
    """The window at `end_s`."""


def reductions(cwnd: Series, recovering: Flags, rtt_s: float, least: float = 0.2) -> list[Reduction]:
    """Return the falls of the window by at least a share `least` within one RTT, in order; one recovery episode counts once.

    `recovering` says for each sample whether the sender is in a recovery episode (CWR, fast recovery, after a timeout). Within an episode
    the window inflates and deflates, so that only the window after it counts. A fall outside of an episode (for example one that lies
    between two samples) is seen where the window is below (1 - least) times the maximum of the last RTT. An episode that has not ended at
    the last sample does not count.
    """
    times, values = cwnd
    if not times.size:
        return []
    low = values <= (1 - least) * _trailing_maximum(times, values, rtt_s)
    active = low | recovering
    begins = active & ~np.concatenate([[False], active[:-1]])
    # A new episode also begins where recovery does while the window still counts as fallen.
    begins |= recovering & ~np.concatenate([[False], recovering[:-1]])
    found: list[Reduction] = []
    starts = np.flatnonzero(begins)
    floor = 0
    for number, start in enumerate(starts):
        limit = int(starts[number + 1]) if number + 1 < len(starts) else len(times)
        inside = recovering[start:limit] if recovering[start] else active[start:limit]
        over = np.flatnonzero(~inside)
        end = int(start) + int(over[0]) if over.size else limit
        if end == len(times):
            break
        earliest = max(floor, min(int(np.searchsorted(times, times[start] - rtt_s, side="left")), int(start) - 1))
        before = float(values[earliest : start + 1].max())
        after = float(values[end])
        if after <= (1 - least) * before:
            found.append(Reduction(float(times[start]), float(times[end]), before, after))
        floor = end
    return found


def initial_reductions(found: Sequence[Reduction], within_s: float) -> list[Reduction]:
    """The first reduction, and those that start within `within_s` of it."""
    return [each for each in found if each.start_s <= found[0].start_s + within_s]


def avoidance_start(cwnd: Series, ssthresh: Series, recovering: Flags, from_s: float) -> float:
    """The window where congestion avoidance begins, in its unit: at the first sample from `from_s` on that is outside of a recovery episode
    and not below the slow-start threshold; NaN if there is none.

    A stack may leave recovery below the threshold and come back to it in slow start. All three have the same samples.
    """
    times, values = cwnd
    there = np.flatnonzero((times >= from_s) & ~recovering & (values >= ssthresh[1]))
    return float(values[there[0]]) if there.size else math.nan


def bursts(cumulative: Series, quiet_s: float) -> list[tuple[float, float]]:
    """First and last sample (s) of each group of increases of a counter; `quiet_s` or more without one ends a group."""
    times, values = cumulative
    rises = times[1:][np.diff(values) > 0]
    if not rises.size:
        return []
    ends = np.flatnonzero(np.diff(rises) >= quiet_s)
    firsts, lasts = np.concatenate([[0], ends + 1]), np.concatenate([ends, [len(rises) - 1]])
    return [(float(rises[first]), float(rises[last])) for first, last in zip(firsts, lasts, strict=True)]


def _trailing_maximum(times: Array, values: Array, window_s: float) -> Array:
    """The maximum value in [t - window_s, t] at each sample of a regular series; the sample before always counts."""
    step_s = float(times[1] - times[0]) if len(times) > 1 else math.inf
    width = 1 + max(1, math.floor(window_s / step_s + 1e-9))
    padded = np.concatenate([np.full(width - 1, -np.inf), values])
    greatest: Array = np.lib.stride_tricks.sliding_window_view(padded, width).max(axis=1)
    return greatest
