"""Pure functions of arrays: what is measured, over which window, in which unit.

Nothing here knows an engine, a scenario or a file. Each function says which samples it uses; none interpolates. Words are those of
RFC 5166: throughput is what the receiving application reads, utilisation is throughput over the capacity.
"""

from __future__ import annotations

from dumbbell.metrics.delay import mean, percentile, queueing_delay_ms
from dumbbell.metrics.fairness import coefficient_of_variation, jain
from dumbbell.metrics.statistics import confidence_interval, rank_correlation
from dumbbell.metrics.throughput import (
    NS_PER_S,
    elapsed_throughput_mbit,
    first_increase,
    sliding_throughput_mbit,
    throughput_mbit,
    utilisation,
)
from dumbbell.metrics.window import Series, in_window

__all__ = [
    "NS_PER_S",
    "Series",
    "coefficient_of_variation",
    "confidence_interval",
    "elapsed_throughput_mbit",
    "first_increase",
    "in_window",
    "jain",
    "mean",
    "percentile",
    "queueing_delay_ms",
    "rank_correlation",
    "sliding_throughput_mbit",
    "throughput_mbit",
    "utilisation",
]
