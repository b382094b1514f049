"""Settings of TCP connections in random scenarios: socket buffers, segment sizes, codepoints, who opens, who reads slowly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell.agreement.draw import Draw
from dumbbell.agreement.shared import Shared
from dumbbell.catalogue.feature import Feature

_BUFFER = 0.12
"""Probability that a socket buffer has a size of its own; the next ones likewise."""
_OPTION, _MSS, _CODEPOINT, _OPENED_BY_RECEIVER, _READS, _NODELAY = 0.15, 0.12, 0.3, 0.15, 0.08, 0.3
_BUFFER_KIB = (16, 1024)
_MSS_BYTES = (500, 8960)
"""Least and most: smaller segments make runs of many packets, larger ones no path carries."""
_CODEPOINTS = ("LE", "CS1", "AF21", "AF41", "CS5", "VA", "EF", 7)
LOOKS_AT_BANDS = frozenset({"fq"})
"""Queue disciplines whose bands by codepoint only one of the engines has."""
_OPTIONS: Mapping[str, Sequence[Any]] = {
    "initial_cwnd": (2, 4, 20),
    "reordering": (8,),
    "rto_min_ms": (40, 1000),
    "sack_compression": (False,),
    "tail_loss_probe": (False,),
}
"""Option of the stack -> the values that may be drawn instead of the default."""


def of_flow(draw: Draw, shared: Shared, qdisc: str, cc: str, kbit: int) -> dict[str, Any]:
    """Return the settings of a group of bulk flows or sized transfers."""
    found = of_any(draw, shared, qdisc, cc)
    host = {key: f"{round(draw.log(key, *_BUFFER_KIB))}KiB" for key in ("rcvbuf", "sndbuf") if draw.chance(f"own {key}", _BUFFER)}
    if Feature.SLOW_READERS in shared.feature and draw.chance("own reads", _READS):
        host["reads"] = f"{round(draw.log('reads', max(16, kbit / 50), 1.2 * kbit))}kbit"
    if host:
        found["host"] = host
    options = sorted(shared.option & _OPTIONS.keys())
    if options and draw.chance("option", _OPTION):
        option = draw.choice("which option", options)
        found["stack"] = {"base": shared.stack, option: draw.choice(option, _OPTIONS[option])}
    if Feature.SERVER_OPENS in shared.feature and draw.chance("opened by the receiver", _OPENED_BY_RECEIVER):
        found["opens"] = "receiver"
    return found


def of_application(draw: Draw, shared: Shared, qdisc: str, cc: str, opened_by: str) -> dict[str, Any]:
    """Return the settings of an application's connections. `opened_by` is the end that does not open them by default."""
    found = of_any(draw, shared, qdisc, cc)
    if draw.chance("nodelay", _NODELAY):
        found["host"] = {"nodelay": True}
    if Feature.SERVER_OPENS in shared.feature and draw.chance("opened by the other end", _OPENED_BY_RECEIVER):
        found["opens"] = opened_by
    return found


def of_any(draw: Draw, shared: Shared, qdisc: str, cc: str) -> dict[str, Any]:
    """Return the settings of any traffic over TCP."""
    found: dict[str, Any] = {}
    if cc not in shared.wants_sce and draw.chance("own mss", _MSS):
        found["mss"] = round(draw.log("mss", *_MSS_BYTES))
    return found | codepoint(draw, qdisc)


def codepoint(draw: Draw, qdisc: str) -> dict[str, Any]:
    """Return the codepoint of TCP or of datagrams."""
    if qdisc in LOOKS_AT_BANDS or not draw.chance("own dscp", _CODEPOINT):
        return {}
    return {"dscp": draw.choice("dscp", _CODEPOINTS)}
