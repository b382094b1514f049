"""Flent's data files, of versions 2 to 4 of their format (to Flent 2.3).

The reader takes the raw values of TCP streams and pings; from a file that has none, the values on the common time axis, which Flent
interpolated. Time 0 is that of the first measurement. Before version 4 the raw values of UDP pings by netperf are transactions per second,
which Flent itself turns into RTTs when it reads such a file. Series that Flent computes from others are left out. Series with a unit that
has no place in a run are left out, too, and named. A series with an unknown unit is an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from dumbbell.exchange.imported import Found, FoundFlow, Points, Samples, delays
from dumbbell.exchange.reading import MOST_TIME_S, FilePlace, parsed
from dumbbell.results.imported import UNKNOWN_CC

VERSION = 1
_VERSIONS = (2, 3, 4)
_TCP = re.compile(r"TCP (upload|download)\b.*")
_PING = re.compile(r"Ping \(ms\).*")
_COMPUTED = re.compile(r".*(\b(avg|sum|fairness)|::tcp_\w+|TCP totals)")
"""Names of series that Flent computes from other series when it evaluates a test."""
_OTHERS = re.compile(r"((cpu|qdisc|wifi|netstat)_?stats?_|HTTP|VoIP|UDP|DASH|MQTT).*")
"""Names of Flent's own tests and statistics, which belong to no TCP stream."""
_RATE, _DELAY = "Mbits/s", "ms"
_SOCKET = {"tcp_cwnd": "cwnd", "tcp_rtt": "srtt_ms"}
_BITS_PER_MBIT = 1e6
_MOST_RATE, _MOST_MS = 1e7, 1e9
_LATEST_S = 1e11
"""Seconds since 1970."""


def recognises(content: bytes) -> bool:
    """True if a file looks like one."""
    return content.lstrip()[:1] == b"{" and b'"x_values"' in content and b'"metadata"' in content


def found_in(content: bytes, place: FilePlace) -> list[Found]:
    """Return the content of a file. Raises `BadInput`."""
    document = place.mapping(parsed(content, place))
    version = document.get("version", 1)
    if version not in _VERSIONS or isinstance(version, bool):
        raise place.at("version").wrong(f"is {json.dumps(version)[:20]}", "2, 3 or 4")
    at_metadata, metadata = place.item(document, "metadata")
    at_metadata.mapping(metadata)
    recorded = _recorded(document, metadata, place, version)
    if not recorded.records:
        raise place.wrong("has no TCP stream and no ping", "series such as 'TCP upload' or 'Ping (ms) ICMP'")
    zero_s = min(first_s for series in recorded.records.values() for first_s, _ in series)
    if max(numbers["t"] for series in recorded.records.values() for _, numbers in series) - zero_s > MOST_TIME_S:
        raise place.at("raw_values").wrong("times are years apart", "those of one measurement")
    flows = [_stream(name, recorded, zero_s) if _TCP.fullmatch(name) else _probe(name, recorded, zero_s) for name in recorded.records]
    unknown = [*recorded.notes]
    if any(_TCP.match(flow.name) and flow.direction == "forward" for flow in flows):
        unknown.append("rx_bytes of uploads is what netperf wrote to its socket, which may be more than was received")
    unknown.append("drops, marks and queues are not known")
    test = _text(metadata.get("NAME"))
    cell: dict[str, str | int | float] = {"title": title} if (title := _text(metadata.get("TITLE"))) else {}
    return [
        Found(
            f"Flent {_text(metadata.get('FLENT_VERSION')) or 'of an unknown version'} (test {test or 'unknown'})", unknown, flows, cell=cell
        )
    ]


class _Recorded:
    """The records of the series that are read."""

    def __init__(self) -> None:
        self.records: dict[str, list[tuple[float, Mapping[str, float]]]] = {}
        """Series -> records, each with the time (s) at which its interval began, and its numbers, with `t`."""
        self.meta: dict[str, Mapping[str, Any]] = {}
        self.places: dict[str, FilePlace] = {}
        self.notes: list[str] = []


def _recorded(document: Mapping[str, Any], metadata: Mapping[str, Any], place: FilePlace, version: int) -> _Recorded:
    found = _Recorded()
    where, raw = place.item(document, "raw_values")
    where.mapping(raw)
    at_results, results = place.item(document, "results")
    at_results.mapping(results)
    meta = place.at("metadata", "SERIES_META").mapping(metadata.get("SERIES_META") or {})
    others: dict[str, None] = {}
    place.few({**raw, **results})
    for name in dict.fromkeys([*raw, *results]):
        here = (where if raw.get(name) else at_results).at(name)
        own = place.at("metadata", "SERIES_META", name).mapping(meta.get(name) or {})
        rate, delay = _TCP.fullmatch(name), _PING.fullmatch(name)
        if _COMPUTED.fullmatch(name) or own.get("COMPUTED_LATE") is not None:
            continue
        unit = own.get("UNITS", _RATE if rate else _DELAY if delay else None)
        if not rate and not delay and (unit is not None or _OTHERS.fullmatch(name)):
            others[name.partition("::")[0]] = None
            continue
        if unit is None:
            raise here.wrong("the unit of this series is not known", "a TCP stream, a ping, or UNITS in metadata.SERIES_META")
        if unit != (_RATE if rate else _DELAY):
            raise place.at("metadata", "SERIES_META", name, "UNITS").wrong(f"is {json.dumps(unit)[:60]}", _RATE if rate else _DELAY)
        here.name(name)
        if raw.get(name):
            found.records[name] = list(_raw(here, raw[name], bool(delay), name, version))
        elif name in results:
            found.records[name] = list(_on_axis(document, metadata, results[name], here, place))
            found.notes.append(f"{name}: values that Flent interpolated")
        if not found.records.get(name):
            found.records.pop(name, None)
        found.meta[name], found.places[name] = own, place.at("metadata", "SERIES_META", name)
    if others:
        found.notes.append(f"not read: {', '.join(others)}")
    return found


def _raw(here: FilePlace, records: object, delay: bool, name: str, version: int) -> Iterator[tuple[float, Mapping[str, float]]]:
    for i, record in enumerate(here.listing(records)):
        at = here.at(i)
        at.mapping(record)
        at_t, t = at.item(record, "t")
        numbers = {"t": at_t.number(t, -MOST_TIME_S, _LATEST_S)}
        for key, most in (("val", _MOST_MS if delay else _MOST_RATE), ("dur", MOST_TIME_S), *dict.fromkeys(_SOCKET, 1e12).items()):
            if record.get(key) is not None:
                numbers[key] = at.at(key).number(record[key], 0.0, most)
        for key in ("owd_up", "owd_down"):  # of clocks that may differ
            if record.get(key) is not None:
                numbers[key] = at.at(key).number(record[key], -_MOST_MS, _MOST_MS)
        if record.get("lost") is True:
            numbers["lost"] = 1.0
        # The same rule as Flent's: netperf's records have a duration, irtt's have none.
        if delay and version < 4 and "UDP" in name and "dur" in numbers and "val" in numbers:
            if not numbers["val"] > 0:
                raise at.at("val").wrong(f"is {numbers['val']:g} transactions per second", "a number above 0")
            numbers["val"] = 1e3 / numbers["val"]
        yield numbers["t"] - (0.0 if delay else numbers.get("dur", 0.0)), numbers


def _on_axis(
    document: Mapping[str, Any], metadata: Mapping[str, Any], found: object, here: FilePlace, place: FilePlace
) -> Iterator[tuple[float, Mapping[str, float]]]:
    """The values of a series without raw ones."""
    at_x, listed = place.item(document, "x_values")
    x_values, values = at_x.listing(listed), here.listing(found)
    if len(values) != len(x_values):
        raise here.wrong(f"has {len(values)} values", f"as many as x_values, {len(x_values)}")
    step_s = place.at("metadata", "STEP_SIZE").number(metadata.get("STEP_SIZE"), 1e-6, MOST_TIME_S)
    for i, (x, value) in enumerate(zip(x_values, values, strict=True)):
        if value is not None:
            t = at_x.at(i).number(x, -MOST_TIME_S, MOST_TIME_S)
            yield t - step_s, {"t": t, "val": here.at(i).number(value, 0.0, _MOST_MS), "dur": step_s}


def _stream(name: str, recorded: _Recorded, zero_s: float) -> FoundFlow:
    records, meta, at = recorded.records[name], recorded.meta[name], recorded.places[name]
    rates = sorted((numbers for _, numbers in records if "val" in numbers), key=lambda numbers: numbers["t"])
    flow = FoundFlow(name, direction="forward" if name.startswith("TCP upload") else "reverse")
    if isinstance(cc := meta.get("CONG_CONTROL"), str):
        flow.cc = at.at("CONG_CONTROL").name(cc) if cc else UNKNOWN_CC
    if meta.get("TCP_MSS"):
        flow.segment_bytes = at.at("TCP_MSS").count(meta["TCP_MSS"])
    if meta.get("TCP_RETRANSMIT") not in (None, ""):
        flow.columns["retransmits"] = at.at("TCP_RETRANSMIT").count(meta["TCP_RETRANSMIT"])
    if rates:
        if any(not numbers.get("dur") for numbers in rates):
            raise at.wrong("a rate has no duration", "the key dur for each rate")
        received = np.cumsum([numbers["val"] * numbers["dur"] * _BITS_PER_MBIT / 8 for numbers in rates])
        times = [_ns(numbers["t"], zero_s) for numbers in rates]
        flow.start_ns = _ns(rates[0]["t"] - rates[0]["dur"], zero_s)
        flow.end_ns = times[-1]
        flow.series["rx_bytes"] = _samples([(flow.start_ns, 0.0), *zip(times, np.round(received).tolist(), strict=True)])
        flow.columns["rx_bytes"] = round(float(received[-1]))
    for key, series in _SOCKET.items():
        points = [(_ns(numbers["t"], zero_s), numbers[key]) for _, numbers in records if key in numbers]
        if points:
            flow.series[series] = _samples(points)
    return flow


def _probe(name: str, recorded: _Recorded, zero_s: float) -> FoundFlow:
    records = [numbers for _, numbers in recorded.records[name]]
    flow = FoundFlow(name, kind="udp" if "UDP" in name or any("owd_up" in numbers for numbers in records) else "ping")
    for key, series, prefix in (("val", "rtt_ms", "rtt"), ("owd_up", "owd_ms", "owd"), ("owd_down", "owd_back_ms", "owd_back")):
        points = [(_ns(numbers["t"], zero_s), numbers[key]) for numbers in records if key in numbers]
        if points and min(value for _, value in points) >= 0:  # below 0 the clocks of the two ends differ
            flow.series[series] = _samples(points)
            flow.columns |= delays(prefix, flow.series[series][1])
    if lost := sum("lost" in numbers for numbers in records):
        flow.columns |= {"sent_packets": len(records), "lost_packets": lost, "lost_share": lost / len(records)}
    return flow


def _samples(listed: Iterable[tuple[int, float]]) -> Samples:
    points = Points()
    for t_ns, value in listed:
        points.add(t_ns, value)
    return points.samples()


def _ns(t_s: float, zero_s: float) -> int:
    return round((t_s - zero_s) * 1e9)


def _text(value: object) -> str:
    return value[:100] if isinstance(value, str) and value.isprintable() else ""
