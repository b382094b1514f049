"""Delay, jitter, loss and order of the datagrams of a stream.

Datagrams are numbered in the order of their sending. Times are whole ns of one clock; a datagram that has not arrived has one of the
negative numbers below instead. Those under way when the run ends are neither lost nor arrived.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dumbbell.metrics.window import Array

LOST, UNDER_WAY, NOT_SENT = -1, -2, -3
"""Instead of the time of an arrival. A reply to a datagram that did not arrive is not sent."""
_JITTER_GAIN = 1 / 16
"""RFC 3550, section 6.4.1."""
_NS_PER_MS = 1e6


@dataclass(frozen=True)
class Datagrams:
    """All datagrams of a stream."""

    sent_ns: NDArray[np.int64]
    """Shape (datagrams,), like the others; rising."""
    there_ns: NDArray[np.int64]
    """Arrival of each at the other end."""
    back_ns: NDArray[np.int64]
    """Arrival of the reply, which was sent at `there_ns`."""

    @property
    def are_answered(self) -> bool:
        """True if a datagram was sent back."""
        return bool((self.back_ns != NOT_SENT).any())

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Datagrams that were lost on their way, or whose reply was; shape (datagrams,)."""
        lost: NDArray[np.bool_] = (self.there_ns == LOST) | (self.back_ns == LOST)
        return lost

    @property
    def under_way(self) -> NDArray[np.bool_]:
        """Datagrams that were still under way when the run ended, or whose reply was; shape (datagrams,)."""
        under_way: NDArray[np.bool_] = (self.there_ns == UNDER_WAY) | (self.back_ns == UNDER_WAY)
        return under_way

    @property
    def lost_share(self) -> float:
        """Return the share of lost datagrams among those that are not under way; NaN if there are none."""
        settled = int((~self.under_way).sum())
        return int(self.lost.sum()) / settled if settled else math.nan


def arrivals(sent_ns: NDArray[np.int64], arrived_ns: NDArray[np.int64]) -> tuple[NDArray[np.int64], Array]:
    """Return times of arrival (ns) and one-way delays (ms) of the arrived datagrams, in order of arrival; each of shape (arrived,)."""
    there = np.flatnonzero(arrived_ns >= 0)
    order = there[np.argsort(arrived_ns[there], kind="stable")]
    return arrived_ns[order], (arrived_ns[order] - sent_ns[order]) / _NS_PER_MS


def jitter_ms(delays_ms: Array) -> Array:
    """Interarrival jitter after each datagram that arrived, ms, shape (arrived,); 0 after the first.

    Args:
        delays_ms: One-way delays in order of arrival.

    Source: RFC 3550, section 6.4.1. The difference of two relative transit times is that of their delays.
    """
    jitter = 0.0
    found = [jitter] if len(delays_ms) else []
    for difference in np.abs(np.diff(delays_ms)).tolist():
        jitter += (difference - jitter) * _JITTER_GAIN
        found.append(jitter)
    return np.array(found)


def reordered(arrived_ns: NDArray[np.int64]) -> int:
    """Datagrams that arrived after one that was sent later. Source: RFC 4737, section 3: their number is below the next expected."""
    there = np.flatnonzero(arrived_ns >= 0)
    numbers = there[np.argsort(arrived_ns[there], kind="stable")]
    return int((numbers < np.maximum.accumulate(numbers)).sum()) if numbers.size else 0
