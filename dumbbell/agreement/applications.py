"""Applications over TCP for random scenarios: requests and responses, sources with a rate, pages, streaming."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dumbbell.agreement.connections import of_application
from dumbbell.agreement.draw import Draw
from dumbbell.agreement.shared import Shared
from dumbbell.scenario import Exchange, OnOff, Page, Streaming

_CHANCE = 0.3
"""Probability that a scenario has one."""


def application(draw: Draw, shared: Shared, qdisc: str, kbit: int, rtt_us: int) -> dict[str, Any] | None:
    """An entry of `background`, or None: what it sends is a fraction of the link's rate."""
    kinds = {kind: make for kind, (feature, make) in _KINDS.items() if feature in shared.feature}
    if not kinds or not draw.chance("application", _CHANCE):
        return None
    kind = draw.choice("application of", sorted(kinds))
    own = draw.at("application")
    common = {"kind": kind, "cc": draw.choice("cc", sorted(set(shared.cc) - set(shared.needs_ecn))), "direction": "forward"}
    opened_by = "receiver" if kind == "onoff" else "server"
    entry = common | kinds[kind](own, kbit, rtt_us) | of_application(own, shared, qdisc, common["cc"], opened_by)
    if own.chance("other way", 0.5):
        entry["direction"] = "reverse"
    return entry


def _amount(own: Draw, name: str, value: str) -> Any:
    """Always the same, or exponential with that mean."""
    return {"exponential": value} if own.chance(f"{name} drawn", 0.3) else value


def _bytes(own: Draw, name: str, least: float, most: float) -> Any:
    return _amount(own, name, f"{round(own.log(name, least, max(2 * least, most)))}B")


def _think(own: Draw, rtt_us: int) -> Any:
    return _amount(own, "think", f"{round(own.log('think', 1000, max(2_000_000, 4 * rtt_us)))}us")


def _exchange(own: Draw, kbit: int, rtt_us: int) -> dict[str, Any]:
    """Responses of up to a second of the link."""
    sizes = {"request": _bytes(own, "request", 50, 5000), "response": _bytes(own, "response", 500, kbit * 125)}
    return {**sizes, "think": _think(own, rtt_us), "connections": own.whole("connections", 1, 3)}


def _onoff(own: Draw, kbit: int, _rtt_us: int) -> dict[str, Any]:
    """Up to half of the link, always or in periods."""
    rate, write = f"{round(kbit * own.log('rate', 0.02, 0.5))}kbit", f"{round(own.log('write', 500, 50_000))}B"
    entry: dict[str, Any] = {"rate": rate, "write": write}
    if own.chance("periods", 0.5):
        entry |= {name: _amount(own, name, f"{own.whole(name, 100, 3000)}ms") for name in ("on", "off")}
    return entry


def _page(own: Draw, kbit: int, rtt_us: int) -> dict[str, Any]:
    """Pages of up to a few seconds of the link."""
    objects = own.whole("objects", 1, 40)
    entry: dict[str, Any] = {"objects": objects, "size": _bytes(own, "size", 200, kbit * 250 / objects), "think": _think(own, rtt_us)}
    entry["connections"] = own.whole("connections", 1, 6)
    if own.chance("first", 0.5):
        entry["first"] = _bytes(own, "first", 500, 60_000)
    return entry


def _streaming(own: Draw, kbit: int, _rtt_us: int) -> dict[str, Any]:
    """From a tenth of the link to somewhat more than it carries, so that players stall."""
    chunk = own.choice("chunk", (1, 2, 4))
    bitrate, buffer = f"{round(kbit * own.log('bitrate', 0.1, 1.2))}kbit", f"{chunk * own.whole('buffer', 2, 6)}s"
    return {"bitrate": bitrate, "chunk": f"{chunk}s", "buffer": buffer}


_KINDS: Mapping[str, tuple[str, Callable[[Draw, int, int], dict[str, Any]]]] = {
    "exchange": (Exchange.feature, _exchange),
    "onoff": (OnOff.feature, _onoff),
    "page": (Page.feature, _page),
    "streaming": (Streaming.feature, _streaming),
}
"""Kind -> the feature that both engines must have, and what is drawn of it."""
