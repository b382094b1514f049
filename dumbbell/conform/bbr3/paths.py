"""The paths and the traffic of the cases, and what the draft's formulae give on them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell.conform.seen import FLOW, SEED, Seen

Cc = Mapping[str, Any]
PAYLOAD = 1448
"""Payload of a full segment, bytes."""
PAYLOAD_SHARE = 1448 / 1514
"""Share of a link's rate that is payload, which BBR's bandwidths count."""
RATE_MBIT = 50.0
RTT_MS = 40.0
RTT = RTT_MS / 1e3
MIN_PIPE = 4
"""BBR.MinPipeCwnd, segments."""
HEADROOM = 0.15
QUANTA = 3
SMALLEST_QUANTUM = 2
"""Smallest send quantum, segments."""


def bdp_bytes(rate_mbit: float = RATE_MBIT, rtt_ms: float = RTT_MS) -> float:
    """Bandwidth times delay, bytes."""
    return rate_mbit * rtt_ms * 125


def path(
    rate_mbit: float = RATE_MBIT, rtt_ms: float = RTT_MS, buffer_bdp: float = 2.0, impairments: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Return a dumbbell with a drop-tail queue."""
    limit = f"{max(round(buffer_bdp * bdp_bytes(rate_mbit, rtt_ms)), 3028)}B"
    bottleneck = {"rate": f"{rate_mbit * 1e6:.0f}bit", "qdisc": {"kind": "bfifo", "limit": limit}}
    return {"rtt": f"{rtt_ms * 1e6:.0f}ns", "bottleneck": bottleneck, "reverse": "none", "impairments": list(impairments)}


def run(cc: Cc, seconds: float, over: Mapping[str, Any] | None = None, *, sample: str = "1ms", **application: Any) -> Seen:
    """Run one flow: a bulk flow, or one whose application writes as `onoff` says."""
    document: dict[str, Any] = {
        "name": "conform",
        "engine": "sim",
        "seed": SEED,
        "path": dict(over or path()),
        "duration": f"{seconds:g}s",
        "sample": sample,
        "series": {"flows": [FLOW], "state": ["control"]},
        "events": ["acks", "losses", "state"],
        "flows": [],
    }
    if application:
        document["background"] = [{"kind": "onoff", "name": FLOW, "cc": dict(cc), **application}]
    else:
        document["flows"] = [{"name": FLOW, "cc": dict(cc)}]
    return Seen(document)


def at(t: float) -> str:
    """Return a time of an impairment."""
    return f"{t * 1e9:.0f}ns"


def share_of_rate(share: float, rate_mbit: float = RATE_MBIT) -> str:
    """Return a rate of payload, as a share of what the link carries."""
    return f"{share * rate_mbit * PAYLOAD_SHARE * 1e6:.0f}bit"


def quantum(seen: Seen, t: float) -> int:
    """Return the send quantum: 1 ms at the pacing rate, at most 64 KB and at least two segments; in segments."""
    size = min(seen.before("pacing_bps", t) / 8 / 1000, 65536)
    return max(int(size // PAYLOAD), SMALLEST_QUANTUM)


def estimated_bdp(seen: Seen, t: float) -> int:
    """Return BBR.bdp: its bandwidth times its minimum RTT, segments."""
    return math.ceil(round(seen.before("bw_bps", t) * seen.before("model_min_rtt_ms", t) / 8e3 / PAYLOAD, 3))


def target(seen: Seen, t: float) -> int:
    """Return Inflight(1.0): the BDP, with room for the offload budget, segments."""
    return max(estimated_bdp(seen, t), QUANTA * quantum(seen, t), MIN_PIPE)
