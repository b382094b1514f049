"""Shapers with every default filled in, in bit/s and bytes."""

from __future__ import annotations

from typing import Any

from dumbbell.scenario import Bottleneck

_BURST_BYTES = {"tbf": 1540, "htb": 1600}
"""Default sizes of buckets: those of the kernel runs of the study oracle."""


def shaper(bottleneck: Bottleneck, rate_bps: int) -> dict[str, Any]:
    """What paces a queue; `own`: the queue discipline itself."""
    kind = bottleneck.shaper_kind
    if kind == "cake":
        return {"kind": "own"}
    if kind == "link":
        return {"kind": "link", "rate_bps": rate_bps}
    return {"kind": kind, "rate_bps": rate_bps, "burst_bytes": int(bottleneck.burst or _BURST_BYTES[kind])}
