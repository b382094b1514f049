"""Pure functions of arrays: each says its quantity, its window and its unit.

Nothing here knows an engine, a scenario or a file. Each function says which samples it uses; none interpolates. Terms are those of RFC
5166: throughput is the rate at which the receiving application reads, utilisation is throughput over the capacity.
"""

from __future__ import annotations

from dumbbell.metrics.capacity import drain_ms, mean_rate, opportunity_rate_mbit
from dumbbell.metrics.congestion import Reduction, avoidance_start, bursts, initial_reductions, reductions
from dumbbell.metrics.delay import binned, mean, percentile, pooled, queueing_delay_ms
from dumbbell.metrics.fairness import coefficient_of_variation, harm, jain, jain_by_step, time_to_fair_share
from dumbbell.metrics.orders import OrderTest, order_test, relation
from dumbbell.metrics.stability import (
    aggregate_variation,
    available_variation,
    bits_by_bin,
    distribution,
    flow_variation,
    link_utilisation,
    loss_synchronisation,
    queue_variation,
    synchronisation_index,
)
from dumbbell.metrics.statistics import (
    bootstrap_interval,
    confidence_interval,
    correlation,
    gaussian_ellipse,
    median_interval,
    rank_correlation,
)
from dumbbell.metrics.throughput import (
    NS_PER_S,
    delivered_bytes,
    elapsed_throughput_mbit,
    first_increase,
    sliding_throughput_mbit,
    throughput_mbit,
    utilisation,
    window_throughput_mbit,
)
from dumbbell.metrics.window import Array, Flags, Series, in_window, interval_s

__all__ = [
    "NS_PER_S",
    "Array",
    "Flags",
    "OrderTest",
    "Reduction",
    "Series",
    "aggregate_variation",
    "available_variation",
    "avoidance_start",
    "binned",
    "bits_by_bin",
    "bootstrap_interval",
    "bursts",
    "coefficient_of_variation",
    "confidence_interval",
    "correlation",
    "delivered_bytes",
    "distribution",
    "drain_ms",
    "elapsed_throughput_mbit",
    "first_increase",
    "flow_variation",
    "gaussian_ellipse",
    "harm",
    "in_window",
    "initial_reductions",
    "interval_s",
    "jain",
    "jain_by_step",
    "link_utilisation",
    "loss_synchronisation",
    "mean",
    "mean_rate",
    "median_interval",
    "opportunity_rate_mbit",
    "order_test",
    "percentile",
    "pooled",
    "queue_variation",
    "queueing_delay_ms",
    "rank_correlation",
    "reductions",
    "relation",
    "sliding_throughput_mbit",
    "synchronisation_index",
    "throughput_mbit",
    "time_to_fair_share",
    "utilisation",
    "window_throughput_mbit",
]
