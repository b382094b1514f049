"""Shapers with every default filled in, in bit/s and bytes."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from dumbbell.catalogue import entries
from dumbbell.scenario import Bottleneck

_BEYOND_FRAME = {name: each.beyond_frame for name, entry in entries("shaper").items() for each in entry.parameters}
"""Default size of a bucket beyond the largest frame, bytes."""
_NS_PER_MS = 10**6


def shaper(bottleneck: Bottleneck, rate_bps: int, frame_bytes: int, duration_ns: int) -> dict[str, Any]:
    """Return the shaper that paces a queue from the start of a run of this duration. `own`: the queue discipline itself."""
    if (trace := bottleneck.trace) is not None:
        if (at_ms := trace.opportunities_ms) is not None:
            # Opportunities after the end of the run would only take space.
            return {"kind": "trace", "at_ms": at_ms[: bisect_right(at_ms, duration_ns // _NS_PER_MS) + 1], "rate_bps": rate_bps}
        _, rate_bps = next(trace.steps(duration_ns))
    kind = bottleneck.shaper_kind
    if kind in ("cake", "dummynet"):
        return {"kind": "own"}
    if kind == "link":
        return {"kind": "link", "rate_bps": rate_bps}
    return {"kind": kind, "rate_bps": rate_bps, "burst_bytes": int(bottleneck.burst or frame_bytes + _BEYOND_FRAME[kind])}
