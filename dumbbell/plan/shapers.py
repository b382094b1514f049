"""Shapers with every default filled in, in bit/s and bytes."""

from __future__ import annotations

from typing import Any

from dumbbell.scenario import Bottleneck

_BEYOND_FRAME = {"tbf": 26, "htb": 86}
"""What a bucket holds by default beyond the largest frame, bytes: 1540 and 1600 in the kernel runs of the study oracle."""


def shaper(bottleneck: Bottleneck, rate_bps: int, frame_bytes: int) -> dict[str, Any]:
    """What paces a queue; `own`: the queue discipline itself."""
    kind = bottleneck.shaper_kind
    if kind == "cake":
        return {"kind": "own"}
    if kind == "link":
        return {"kind": "link", "rate_bps": rate_bps}
    return {"kind": kind, "rate_bps": rate_bps, "burst_bytes": int(bottleneck.burst or frame_bytes + _BEYOND_FRAME[kind])}
