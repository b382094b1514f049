"""Rates and delays at the bottleneck of a run, over a window: the queue with a rate of which the largest share was used."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dumbbell.results.summary import queues_in, tcp_ends
from dumbbell.results.windowed import Counters, Window, percentile

if TYPE_CHECKING:
    from dumbbell.results.run import Run

BOTTLENECK_METRICS = (
    "bottleneck_mbit",
    "utilisation",
    "queue_delay_mean_ms",
    "queue_delay_p95_ms",
    "queue_delay_p99_ms",
    "loss_rate",
    "mark_rate",
    "retransmission_rate",
)
"""Bytes that the bottleneck handed on, headers included; share of its rate; mean, 95th and 99th percentile of the samples of how long
a packet was queued; packets that it dropped over packets that were offered; packets that it marked CE over those that it handed on;
segments that bulk flows retransmitted over those and the ones that they delivered."""


def bottleneck_metrics(run: Run, window: Window) -> dict[str, float]:
    """Compute them from the series. NaN where there are none, such as without a queue that has a rate."""
    counters = Counters(run)
    start_s, stop_s = window.start_s, window.within(counters.duration_s).stop_s
    found = dict.fromkeys(BOTTLENECK_METRICS, math.nan)
    queues = queues_in(run, tcp_ends(run, window.within(counters.duration_s)), counters.series)
    known = {port: values for port, values in queues.items() if not math.isnan(values["utilisation"])}
    if known:
        port = max(known, key=lambda each: known[each]["utilisation"])
        entity = f"port/{port}"
        sent, dropped, marked = (counters.of(entity, name).between(start_s, stop_s) for name in ("sent_packets", "drops", "ce_marks"))
        found |= {
            **known[port],
            "bottleneck_mbit": counters.of(entity, "sent_bytes").rate(start_s, stop_s) * 8 / 1e6,
            "queue_delay_p99_ms": percentile(counters.values(entity, "sojourn_ms", start_s, stop_s), 99),
            "loss_rate": dropped / (sent + dropped) if sent + dropped > 0 else math.nan,
            "mark_rate": marked / sent if sent > 0 else math.nan,
        }
    flows = [entity for entity, name in counters.series if name == "delivered" and entity.startswith("flow/")]
    again, delivered = (
        math.fsum(counters.of_flow(entity, name).between(start_s, stop_s) for entity in flows) for name in ("retransmits", "delivered")
    )
    if flows and again + delivered > 0:
        found["retransmission_rate"] = again / (again + delivered)
    return found
