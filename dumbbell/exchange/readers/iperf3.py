"""iperf3's JSON (`--json`, 3.9 to 3.21) and its JSON stream (`--json-stream`, since 3.17), of TCP and UDP.

A file may have several documents, and text before them. Keys that only some versions write may be missing. A stream has what this end of it
knows. The sender knows the bytes that it wrote, its window (bytes, over the segment size) and its smoothed RTT (tcpi_rtt). The receiver
knows the bytes that it read. Intervals that are omitted at the beginning are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dumbbell.errors import shortened
from dumbbell.exchange.imported import Found, FoundFlow, Points
from dumbbell.exchange.reading import MOST_TIME_S, FilePlace, as_text, check_values, not_json

VERSION = 1
_MOST_BYTES = 1e15
_MOST_US = 1e12
_JSON = json.JSONDecoder()


def recognises(content: bytes) -> bool:
    """True if a file looks like one."""
    head = content[:200_000]
    return (b'"intervals"' in head and b'"start"' in head) or (b'"event"' in head and b'"start"' in head and b'"data"' in head)


def found_in(content: bytes, place: FilePlace) -> list[Found]:
    """Return the content of a file: an item for each document. Raises `BadInput`."""
    documents = list(_documents(content, place))
    several = len(documents) > 1
    return [_one(document, FilePlace(place.file, f"document {i}") if several else place) for i, document in enumerate(documents, 1)]


def _documents(content: bytes, place: FilePlace) -> Iterator[dict[str, Any]]:
    """The documents of a file; the lines of a stream are put together as one."""
    check_values(content, place)
    text = as_text(content, place)
    stream: dict[str, Any] = {}
    number, counted, at = 1, 0, text.find("{")
    while at >= 0:
        number, counted = number + text.count("\n", counted, at), at
        line = place.line(number)
        try:
            found, end = _JSON.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise not_json(line, error) from None
        if "event" in found:
            event, data = str(found["event"]), found.get("data")
            if event == "start":
                if stream:
                    yield stream
                stream = {"start": data, "intervals": []}
            elif event == "interval" and stream:
                stream["intervals"].append(data)
            elif stream:
                stream.setdefault(event, data)
            else:
                raise line.wrong(f"the event {shortened(repr(event), 40)} comes before any start", "the event start first")
        else:
            yield found
        at = text.find("{", end)
    if stream:
        yield stream


def _one(document: Mapping[str, Any], place: FilePlace) -> Found:
    if document.get("error"):
        raise place.at("error").wrong(f"iperf3 says {shortened(repr(document['error']), 100)}", "a measurement without an error")
    at_start, start = place.item(document, "start")
    at_start.mapping(start)
    at_test, test = at_start.item(start, "test_start")
    protocol = at_test.item(at_test.mapping(test), "protocol")[1]
    if protocol not in ("TCP", "UDP"):
        raise at_test.at("protocol").wrong(f"is {shortened(repr(protocol), 40)}", "TCP or UDP")
    at_intervals, intervals = place.item(document, "intervals")
    rows = _by_socket(at_intervals, at_intervals.listing(intervals))
    ends = _ends(document, place)
    at_connected, connected = at_start.item(start, "connected")
    segment = next((start[key] for key in ("tcp_mss", "tcp_mss_default") if start.get(key)), None)
    at_connected.few(at_connected.listing(connected))
    flows = []
    for i, each in enumerate(connected):
        at = at_connected.at(i)
        socket = at.item(at.mapping(each), "socket")[0].count(each["socket"])
        ports = (at.at("local_port").count(each.get("local_port", 0)), at.at("remote_port").count(each.get("remote_port", 0)))
        its = rows.get(socket, [])
        sends = bool(next((row["sender"] for _, row in its if "sender" in row), not test.get("reverse")))
        flow = FoundFlow(f"{protocol.lower()}-{i + 1}", direction="forward" if sends else "reverse", ports=ports)
        if segment is not None and protocol == "TCP":
            flow.segment_bytes = at_start.at("tcp_mss").count(segment)
        if protocol == "TCP":
            _fill(flow, its, ends.get(socket, {}), sends, place)
            cc = document.get("end", {}).get("sender_tcp_congestion") if isinstance(document.get("end"), dict) else None
            flow.cc = place.at("end", "sender_tcp_congestion").name(cc) if cc else flow.cc
        else:
            _fill_datagrams(flow, its, ends.get(socket, {}), place)
        flows.append(flow)
    unknown = ["rx_bytes of streams that are sent here is what was written; their window is as of TCP_INFO at the end of each interval"]
    if protocol == "UDP":
        unknown = ["delays are not known; jitter and loss are those of each interval, if this end received"]
    elif segment is None and any("snd_cwnd" in row for each in rows.values() for _, row in each):
        unknown.append("cwnd is not known: the file has no segment size")
    if any(row.get("omitted") for each in rows.values() for _, row in each):
        unknown.append("intervals that were omitted are not read")
    version = start.get("version")
    return Found(version[:60] if isinstance(version, str) and version.isprintable() else "iperf3 of an unknown version", unknown, flows)


def _by_socket(at_intervals: FilePlace, intervals: list[Any]) -> dict[Any, list[tuple[FilePlace, dict[str, Any]]]]:
    """The rows of all intervals, by the socket that they are of."""
    found: dict[Any, list[tuple[FilePlace, dict[str, Any]]]] = {}
    for i, interval in enumerate(intervals):
        where, streams = at_intervals.at(i).item(at_intervals.at(i).mapping(interval), "streams")
        for j, row in enumerate(where.listing(streams)):
            if isinstance(socket := where.at(j).mapping(row).get("socket"), int):
                found.setdefault(socket, []).append((where.at(j), row))
    return found


def _ends(document: Mapping[str, Any], place: FilePlace) -> dict[Any, dict[str, Any]]:
    """Return the file's totals of each socket at the end; empty if the test was broken off."""
    at, end = place.at("end"), document.get("end") or {}
    found: dict[Any, dict[str, Any]] = {}
    for i, stream in enumerate(at.at("streams").listing(at.mapping(end).get("streams") or [])):
        sides = at.at("streams", i).mapping(stream)
        for side, values in sides.items():
            if isinstance(values, dict) and isinstance(values.get("socket"), int):
                found.setdefault(values["socket"], {})[side] = values
    return found


def _fill(flow: FoundFlow, rows: list[tuple[FilePlace, dict[str, Any]]], end: Mapping[str, Any], sends: bool, place: FilePlace) -> None:
    """Series and columns of a TCP stream."""
    points = {name: Points() for name in ("cwnd", "srtt_ms", "retransmits", "rx_bytes")}
    received = again = 0
    for at, row in rows:
        if row.get("omitted"):
            continue
        start_ns, end_ns = (at.item(row, key)[0].time_ns(row[key]) for key in ("start", "end"))
        if flow.start_ns is None:
            flow.start_ns = start_ns
            points["rx_bytes"].add(flow.start_ns, 0.0)
        received += at.item(row, "bytes")[0].count(row["bytes"])
        points["rx_bytes"].add(end_ns, received)
        if "retransmits" in row:
            again += at.at("retransmits").count(row["retransmits"])
            points["retransmits"].add(end_ns, again)
        if row.get("snd_cwnd") is not None and flow.segment_bytes:
            points["cwnd"].add(end_ns, at.at("snd_cwnd").number(row["snd_cwnd"], 0.0, _MOST_BYTES) / flow.segment_bytes)
        if row.get("rtt"):
            points["srtt_ms"].add(end_ns, at.at("rtt").number(row["rtt"], 0.0, _MOST_US) / 1e3)
        flow.end_ns = end_ns
    flow.series = {name: listed.samples() for name, listed in points.items() if listed}
    total = end.get("receiver", {}).get("bytes")
    if received:
        flow.columns["rx_bytes"] = place.at("end", "streams").count(total) if total and sends else received
    if points["retransmits"]:
        flow.columns["retransmits"] = again


def _fill_datagrams(flow: FoundFlow, rows: list[tuple[FilePlace, dict[str, Any]]], end: Mapping[str, Any], place: FilePlace) -> None:
    """Series and columns of a UDP stream."""
    flow.kind = "udp"
    jitter, lost = Points(), Points()
    for at, row in rows:
        if row.get("omitted"):
            continue
        start_ns, end_ns = (at.item(row, key)[0].time_ns(row[key]) for key in ("start", "end"))
        flow.start_ns = start_ns if flow.start_ns is None else flow.start_ns
        flow.end_ns = end_ns
        if "jitter_ms" in row:
            jitter.add(end_ns, at.at("jitter_ms").number(row["jitter_ms"], 0.0, MOST_TIME_S))
        if "lost_packets" in row:
            lost.add(end_ns, at.at("lost_packets").number(row["lost_packets"], 0.0))
    if jitter:
        flow.series["jitter_ms"] = jitter.samples()
        flow.columns["jitter_ms"] = float(np.mean(jitter.values))
    if lost:
        times, counts = lost.samples()
        flow.series["lost"] = times, np.cumsum(counts)
    total = end.get("udp", {})
    if total.get("packets"):
        at = place.at("end", "streams")
        flow.columns |= {"sent_packets": at.count(total["packets"]), "lost_packets": at.count(total.get("lost_packets", 0))}
        flow.columns["lost_share"] = flow.columns["lost_packets"] / flow.columns["sent_packets"]
