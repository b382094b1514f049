"""irtt's JSON (`irtt client -o FILE`, json_format 1): a stream of datagrams with its replies.

RTTs are without the time that the server took. One-way delays are as good as the agreement of the two clocks. Sent bytes have the time of
sending, measurements have the time of the reply. Times are those of the client's monotonic clock if it was recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dumbbell.errors import shortened
from dumbbell.exchange.imported import Found, FoundFlow, Points, delays
from dumbbell.exchange.reading import FilePlace, parsed

VERSION = 1
_MOST_NS = 2e19
"""The year 2603, counted from 1970."""
_MOST_APART_NS = 1e17
_NS_PER_MS = 1e6
_FATES = ("false", "true", "true_up", "true_down")


def recognises(content: bytes) -> bool:
    """True if a file looks like one."""
    return content.lstrip()[:1] == b"{" and b'"round_trips"' in content and b'"irtt"' in content


def found_in(content: bytes, place: FilePlace) -> list[Found]:
    """Return the content of a file. Raises `BadInput`."""
    document = place.mapping(parsed(content, place))
    version = place.at("version").mapping(place.item(document, "version")[1])
    if version.get("json_format") != 1:
        raise place.at("version", "json_format").wrong(f"is {version.get('json_format')!r}"[:60], "1")
    at_trips, trips = place.item(document, "round_trips")
    points = {"rtt_ms": Points(), "owd_ms": Points(), "owd_back_ms": Points()}
    lost = Points()
    clock = ""
    zero_ns = first_ns = 0
    for i, trip in enumerate(at_trips.listing(trips)):
        at = at_trips.at(i)
        fate = at.mapping(trip).get("lost")
        if fate not in _FATES:
            raise at.at("lost").wrong(f"is {shortened(repr(fate), 40)}", " or ".join(map(repr, _FATES)))
        client = at.at("timestamps", "client").mapping(at.at("timestamps").mapping(trip.get("timestamps")).get("client"))
        sent = at.at("timestamps", "client", "send").mapping(client.get("send"))
        clock = clock or next((name for name in ("monotonic", "wall") if sent.get(name) is not None), "wall")
        sent_ns = _time(at, client, "send", clock)
        if not i:
            zero_ns = sent_ns
        first_ns = sent_ns - zero_ns
        if not -_MOST_APART_NS < first_ns < _MOST_APART_NS:
            raise at.at("timestamps").wrong("is years after the first datagram", "times of one measurement")
        lost.add(first_ns, fate != "false")
        if fate == "false":
            _add(points, at, trip, _time(at, client, "receive", clock) - zero_ns)
    flow = FoundFlow("irtt", kind="udp")
    flow.series = {name: listed.samples() for name, listed in points.items() if listed and min(listed.values) >= 0}
    for name in flow.series:
        flow.columns |= delays(name.removesuffix("_ms"), flow.series[name][1])
    if lost:
        times, flags = lost.samples()
        flow.series["lost"] = times, np.cumsum(flags)
        count = int(flags.sum())
        flow.columns |= {"sent_packets": len(lost), "lost_packets": count, "lost_share": count / len(lost)}
    unknown = [
        "one-way delays are only as right as the two clocks agree",
        "jitter of RFC 3550 is not known, and of what is lost on which way not always",
    ]
    if len(flow.series) < len(points) + 1:
        unknown.append("one-way delays that are not there, or below 0, are not read")
    tool = version.get("irtt")
    return [
        Found(
            f"irtt {tool if isinstance(tool, str) and tool.isprintable() else 'of an unknown version'}"[:60],
            unknown,
            [flow] if lost else [],
        )
    ]


def _time(at: FilePlace, client: Mapping[str, Any], which: str, clock: str) -> int:
    where = at.at("timestamps", "client", which)
    here, value = where.item(where.mapping(client.get(which)), clock)
    return int(here.number(value, 0.0, _MOST_NS)) if not isinstance(value, int) or isinstance(value, bool) else _whole(here, value)


def _whole(here: FilePlace, value: int) -> int:
    """Times since 1970 in ns are no floats."""
    here.number(value, 0.0, _MOST_NS)
    return value


def _add(points: Mapping[str, Points], at: FilePlace, trip: Mapping[str, Any], t_ns: int) -> None:
    where, delay = at.item(trip, "delay")
    where.mapping(delay)
    if not -_MOST_APART_NS < t_ns < _MOST_APART_NS:
        raise at.at("timestamps").wrong("is years after the first datagram", "times of one measurement")
    for key, name in (("rtt", "rtt_ms"), ("send", "owd_ms"), ("receive", "owd_back_ms")):
        if delay.get(key) is not None:
            points[name].add(t_ns, where.at(key).number(delay[key], -1e15 if key != "rtt" else 0.0, 1e15) / _NS_PER_MS)
