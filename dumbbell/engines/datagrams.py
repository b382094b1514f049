"""Results of streams of datagrams that measure: series and columns of the table of flows, the same for every engine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.metrics.datagrams import LOST, UNDER_WAY, Datagrams, arrivals, jitter_ms, reordered
from dumbbell.metrics.voice import Playout, burst_ratio, mos, r_factor
from dumbbell.plan import Link, Plan, Traffic

if TYPE_CHECKING:
    from dumbbell.metrics.window import Array
    from dumbbell.results import Block

_PACKET_MS = 20.0
"""Packet time of a voice call: the first sample of a packet waits for the last one."""


def blocks(plan: Plan, streams: Mapping[int, Datagrams]) -> Iterator[Block]:
    """The series of streams by their positions among all flows; none if nothing is sampled."""
    from dumbbell.results import Block

    flows = list(plan.flows)
    for i, stream in streams.items() if plan.sample_ns else ():
        workload, connection = flows[i]
        entity = f"{workload.kind}/{connection.name}"
        if len(stream.sent_ns):
            yield Block(entity, ("lost",), stream.sent_ns, np.cumsum(stream.lost, dtype=np.float64)[np.newaxis, :])
        t_ns, delays_ms = arrivals(stream.sent_ns, stream.there_ns)
        if len(t_ns):
            yield Block(entity, ("owd_ms", "jitter_ms"), t_ns, np.stack([delays_ms, jitter_ms(delays_ms)]))
        t_ns, delays_ms = arrivals(stream.there_ns, stream.back_ns)
        if len(t_ns):
            _, rtts_ms = arrivals(stream.sent_ns, stream.back_ns)
            yield Block(entity, ("rtt_ms", "owd_back_ms", "jitter_back_ms"), t_ns, np.stack([rtts_ms, delays_ms, jitter_ms(delays_ms)]))


def columns(workload: Traffic, stream: Datagrams) -> dict[str, Any]:
    """The columns of a stream; those without a value are left out."""
    _, there_ms = arrivals(stream.sent_ns, stream.there_ns)
    _, back_ms = arrivals(stream.there_ns, stream.back_ns)
    _, rtts_ms = arrivals(stream.sent_ns, stream.back_ns)
    found = {
        **_figures("owd", there_ms),
        **_figures("owd_back", back_ms),
        **_figures("rtt", rtts_ms),
        "lost_packets": int(stream.lost.sum()),
        "lost_share": stream.lost_share,
        "reordered_packets": reordered(stream.there_ns),
    }
    for name, delays_ms in (("jitter_ms", there_ms), ("jitter_back_ms", back_ms)):
        if delays_ms.size:
            found[name] = float(jitter_ms(delays_ms).mean())
    if (buffer_ns := workload.parameters["playout_ns"]) is not None:
        found |= _voice(stream, buffer_ns)
    return {name: value for name, value in found.items() if value == value}


def unaccounted(plan: Plan, name: str, stream: Datagrams, row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences between the datagrams and their counts, one line each. Copies that links made count, and are no datagrams.

    Args:
        plan: Of the run.
        name: Of the stream.
        stream: All its datagrams.
        row: Columns of the table of flows; those that the engine does not count are not there.
    """
    copied = any(isinstance(port, Link) and "duplicate" in (port.faults or {}) for port in plan.ports)
    unknown = math.inf if copied and "duplicated_packets" not in row else 0
    copies = int(row.get("duplicated_packets") or 0) + unknown
    answers = copies + int(row.get("acks_duplicated") or 0)  # each copy is answered
    there, came = stream.there_ns, int((stream.there_ns >= 0).sum())
    ways = (
        ("", copies, len(stream.sent_ns), there, ("sent_packets", "arrived_packets", "dropped_packets", "in_flight_packets")),
        (" back", answers, came, stream.back_ns, ("acks_sent", "acks_arrived", "acks_dropped", "acks_in_flight")),
    )
    for way, extra, sent, arrived_ns, counters in ways:
        noted = (sent, int((arrived_ns >= 0).sum()), int((arrived_ns == LOST).sum()), int((arrived_ns == UNDER_WAY).sum()))
        for counter, number in zip(counters, noted, strict=True):
            if counter in row and not 0 <= row[counter] - number <= extra:
                yield f"{name}{way}: {counter} {row[counter]}, and the datagrams themselves say {number}"


def _voice(stream: Datagrams, buffer_ns: int) -> dict[str, Any]:
    playout = Playout.of(stream.sent_ns, stream.there_ns, buffer_ns)
    if playout.delay_ms != playout.delay_ms:
        return {"late_packets": 0}
    r = r_factor(_PACKET_MS + playout.delay_ms, float(playout.missing.mean()), burst_ratio(playout.missing))
    return {"late_packets": playout.late, "r_factor": max(0.0, r), "mos": mos(r)}


def _figures(what: str, delays_ms: Array) -> dict[str, float]:
    """Mean, median, percentiles and maximum; nothing if nothing arrived."""
    if not delays_ms.size:
        return {}
    median, p95, p99 = np.percentile(delays_ms, [50, 95, 99])
    numbers = {"mean": delays_ms.mean(), "median": median, "p95": p95, "p99": p99, "max": delays_ms.max()}
    return {f"{what}_{name}_ms": float(value) for name, value in numbers.items()}
