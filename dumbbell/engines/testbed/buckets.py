"""Token buckets for timers that may be late: while a timer is late tokens are lost beyond the bucket, and with them capacity."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dumbbell.plan import Plan, Port, Queue

LEAST_MS = 1.0
"""Minimum time that a bucket lasts at its rate."""
_FACTOR = 4.0
"""Times the 99th percentile of how late timers are."""
_ROOM_BYTES = 26
"""Size of a bucket beyond the largest frame: the default bucket of tbf for frames of 1514 bytes is 1540."""
_BY_TIMERS = {"link": "tbf", "tbf": "tbf", "htb": "htb"}
"""Shapers with buckets that timers fill, and the form of each in real time."""


@dataclass(frozen=True)
class Buckets:
    """The plan with buckets that are long enough."""

    plan: Plan
    said: tuple[str, ...]
    """Messages about the changes, one line for each port."""


def with_buckets(plan: Plan, late_us: float) -> Buckets:
    """The plan with buckets of shapers that last 1 ms, and four times as long as timers are late (`late_us`, 99th percentile), at least.

    A line, which takes a packet when it is free, needs timers that are never late: it becomes a token bucket. A larger bucket that the
    scenario asks for stays.
    """
    lasts_ms = max(LEAST_MS, _FACTOR * late_us / 1000)
    ports: list[Port] = []
    said = []
    for port in plan.ports:
        if not isinstance(port, Queue) or port.shaper["kind"] not in _BY_TIMERS:
            ports.append(port)
            continue
        kind, rate_bps = port.shaper["kind"], port.shaper["rate_bps"]
        asked = port.shaper.get("burst_bytes", 0)
        burst = max(asked, plan.frame_bytes + _ROOM_BYTES, round(rate_bps * lasts_ms / 8000))
        ports.append(replace(port, shaper={**port.shaper, "kind": _BY_TIMERS[kind], "burst_bytes": burst}))
        if burst != asked:
            said.append(
                f"port/{port.id}: {kind} is {_BY_TIMERS[kind]} with a bucket of {burst} bytes, {8000 * burst / rate_bps:.3g} ms of its rate"
            )
    return Buckets(replace(plan, ports=tuple(ports)), tuple(said))
