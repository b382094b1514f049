"""qlog of QUIC stacks: 0.3 (draft-ietf-quic-qlog-main-schema-01 to -04), 0.4 (to -09) and the schemas with `file_schema` (from -10).

A file is JSON, or a JSON text sequence (RFC 7464). Lines of JSON without the record separators are read, too.

Each trace is a flow. A trace with events of several connections (`group_id`) is one flow for each. The reader takes these events, with the
namespaces that they have had (`recovery`, `transport`, `quic`):

- `metrics_updated`, `recovery_metrics_updated`: the series `cwnd`, `ssthresh`, `inflight` (bytes over the datagram size), `srtt_ms`,
  `rtt_ms`, `min_rtt_ms`, `rttvar_ms`, `pacing_bps`.
- `packet_sent`: the column `sent_packets`.
- `packet_received` with ACK frames: `delivered`, packets newly acknowledged; `delivered_ce`, where ACKs count marks.
- `packet_received` and `packet_sent` with STREAM frames: `rx_bytes`. It is of the direction with more bytes: payload that was received, or
  that was sent in packets that were acknowledged.
- `packet_lost`: `retransmits`, packets deemed lost, whose frames QUIC retransmits.
- `congestion_state_updated`: `ca_state`, 3 in recovery, else 0.

The datagram size is that of `recovery_parameters_set` (`max_datagram_size`), else the largest packet that was sent, else 1,200 bytes
(RFC 9000, section 14.1).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dumbbell.exchange.imported import Found, FoundFlow, Points
from dumbbell.exchange.reading import MOST_TIME_S, FilePlace, as_text, check_values, not_json, parsed
from dumbbell.results.imported import UNKNOWN_CC

VERSION = 1
_LEAST_DATAGRAM = 1200
_MOST_MS = MOST_TIME_S * 1e3
_NO_THRESHOLD = 1 << 53
"""Thresholds from here on stand for none: implementations write the largest number of 64 bits, of which JSON keeps 53."""
_MOST_RANGES = 1 << 20
_SEPARATOR = b"\x1e"
_SCHEMA = re.compile(r"urn:ietf:params:qlog:file:(contained|sequential)")
_VERSION = re.compile(r"(?:draft-0[0-9]|0\.[34])(?:[.-].*)?")
_METRICS = {
    "congestion_window": ("cwnd", "bytes"),
    "ssthresh": ("ssthresh", "bytes"),
    "bytes_in_flight": ("inflight", "bytes"),
    "smoothed_rtt": ("srtt_ms", "ms"),
    "latest_rtt": ("rtt_ms", "ms"),
    "min_rtt": ("min_rtt_ms", "ms"),
    "rtt_variance": ("rttvar_ms", "ms"),
    "pacing_rate": ("pacing_bps", ""),
}
"""Field of `metrics_updated` -> series, and what has to be done with the value."""
_ABSOLUTE, _RELATIVE, _DELTA = ("absolute",), ("relative", "relative_to_epoch"), ("delta", "relative_to_previous_event")


def recognises(content: bytes) -> bool:
    """True if a file looks like one."""
    head = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n" + _SEPARATOR)
    return head[:1] == b"{" and (b'"qlog_version"' in content[:65536] or b"urn:ietf:params:qlog:file:" in content[:65536])


def found_in(content: bytes, place: FilePlace) -> list[Found]:
    """Return the content of a file. Raises `BadInput`."""
    traces = list(_traces(content, place))
    found = Found("a QUIC stack, by qlog", ["the packets of the other end are not known"])
    names: dict[str, int] = {}
    for trace in traces:
        found.tool = trace.tool or found.tool
        flows = list(trace.flows())
        for flow in flows:
            names[flow.name] = names.get(flow.name, 0) + 1
            if names[flow.name] > 1:
                flow.name = f"{flow.name}-{names[flow.name]}"
            found.flows.append(flow)
    place.few(found.flows)
    if any("retransmits" in flow.series for flow in found.flows):
        found.unknown.append("retransmits counts packets deemed lost, whose frames are retransmitted")
    if any(trace.guessed for trace in traces):
        found.unknown.append(f"the datagram size is not in the file: windows in packets are of {_LEAST_DATAGRAM} bytes")
    return [found]


@dataclass
class _Connection:
    """A connection as its events tell of it."""

    datagram: int = 0
    largest: int = 0
    metrics: dict[str, Points] = field(default_factory=dict)
    sent: dict[tuple[str, int], int] = field(default_factory=dict)
    """Packet number space and packet number -> bytes of STREAM frames, of packets that are not acknowledged."""
    sent_packets: int = 0
    delivered: int = 0
    lost: int = 0
    marks: dict[str, int] = field(default_factory=dict)
    acked: int = 0
    received: int = 0
    series: dict[str, Points] = field(default_factory=dict)
    of_sender: Points = field(default_factory=Points)
    of_receiver: Points = field(default_factory=Points)

    def note(self, name: str, t_ns: int, value: float) -> None:
        """Add a sample."""
        self.series.setdefault(name, Points()).add(t_ns, value)


@dataclass
class _Trace:
    """A trace: where it stands, what holds for all of its events, and the events."""

    place: FilePlace
    head: Mapping[str, Any]
    events: Iterator[tuple[FilePlace, Any]]
    number: int
    tool: str = ""
    guessed: bool = False

    def flows(self) -> Iterator[FoundFlow]:
        """Yield a flow for each connection that has samples or packets."""
        common = self.place.at("common_fields").mapping(self.head.get("common_fields") or {})
        at_point = self.place.at("vantage_point")
        point = at_point.mapping(self.head.get("vantage_point") or {})
        fixed_format = common.get("time_format")
        connections: dict[str, _Connection] = {}
        previous = zero = None
        for at, written in self.events:
            event = _named(at, written, common)
            if event is None:
                continue
            form = event.get("time_format", fixed_format)
            time = at.at("time").number(event.get("time"), -1e15, 1e15)
            if form in _DELTA and previous is not None:
                time += previous
            previous = time
            if zero is None:
                # An absolute time and the first of deltas count from an epoch that does not matter here.
                zero = time if form is None or form in _ABSOLUTE or form in _DELTA else 0.0
            t_ns = round(at.at("time").number(time - zero, -_MOST_MS, _MOST_MS) * 1e6)
            group = event.get("group_id", common.get("group_id", ""))
            connection = connections.setdefault(group if isinstance(group, str) else json.dumps(group, sort_keys=True), _Connection())
            _take(connection, at, event, t_ns)
            self.place.few(connections)
        title = self.head.get("title") or point.get("name") or f"trace-{self.number}"
        for i, (group, connection) in enumerate(connections.items(), 1):
            name = _plain(title if len(connections) == 1 else group or f"{title}-{i}")
            if (flow := self._flow(name, connection)) is not None:
                yield flow

    def _flow(self, name: str, connection: _Connection) -> FoundFlow | None:
        if not (connection.metrics or connection.series or connection.sent_packets or connection.received):
            return None
        size = connection.datagram or connection.largest
        if not size:
            size = _LEAST_DATAGRAM
            self.guessed |= bool(connection.metrics.keys() & {"congestion_window", "bytes_in_flight", "ssthresh"})
        flow = FoundFlow(self.place.name(name), cc=UNKNOWN_CC, segment_bytes=size)
        for field_name, points in connection.metrics.items():
            series, unit = _METRICS[field_name]
            times, values = points.samples()
            flow.series[series] = (times, values / size if unit == "bytes" else values)
        received = connection.received >= connection.acked
        read = connection.of_receiver if received else connection.of_sender
        flow.series |= {series: points.samples() for series, points in connection.series.items()}
        if len(read):
            flow.series["rx_bytes"] = read.samples()
            flow.columns["rx_bytes"] = int(max(read.values))
        if connection.sent_packets:
            flow.columns |= {"sent_packets": connection.sent_packets, "delivered": connection.delivered}
        if connection.lost:
            flow.columns["retransmits"] = connection.lost
        return flow


def _plain(name: object) -> str:
    """Return a text that may be the name of a flow."""
    found = re.sub(r"[^\w.:+-]+", "-", str(name), flags=re.ASCII).strip("-")[:80]
    return found or "trace"


def _named(at: FilePlace, written: Any, common: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return an event with its name and data; None if it has none. Early files have `category` and `type` in place of `name`."""
    event = at.mapping(written)
    if "name" not in event and "type" in event:
        event = {**event, "name": f"{event.get('category', common.get('category', ''))}:{event['type']}"}
    return event if isinstance(event.get("name"), str) and isinstance(event.get("data"), dict) and "time" in event else None


def _take(connection: _Connection, at: FilePlace, event: Mapping[str, Any], t_ns: int) -> None:
    """Take what an event tells."""
    kind = str(event["name"]).rpartition(":")[2]
    data, inside = event["data"], at.at("data")
    if kind in ("metrics_updated", "recovery_metrics_updated"):
        for name in _METRICS.keys() & data.keys():
            value = inside.at(name).number(data[name], 0.0, 1e30)
            if name == "ssthresh" and value >= _NO_THRESHOLD:
                continue
            connection.metrics.setdefault(name, Points()).add(t_ns, value)
    elif kind in ("parameters_set", "recovery_parameters_set"):
        if "max_datagram_size" in data:
            connection.datagram = inside.at("max_datagram_size").count(data["max_datagram_size"])
    elif kind == "packet_sent":
        _take_sent(connection, inside, data)
    elif kind == "packet_received":
        _take_received(connection, inside, data, t_ns)
    elif kind == "packet_lost":
        connection.lost += 1
        connection.note("retransmits", t_ns, connection.lost)
    elif kind in ("congestion_state_updated", "recovery_congestion_state_updated"):
        connection.note("ca_state", t_ns, 3.0 if data.get("new") == "recovery" else 0.0)


def _take_sent(connection: _Connection, at: FilePlace, data: Mapping[str, Any]) -> None:
    connection.sent_packets += 1
    raw = data.get("raw")
    if isinstance(raw, dict) and "length" in raw:
        connection.largest = max(connection.largest, at.at("raw", "length").count(raw["length"]))
    if (numbered := _numbered(at, data)) is not None:
        connection.sent[numbered] = _stream_bytes(at, data)


def _take_received(connection: _Connection, at: FilePlace, data: Mapping[str, Any], t_ns: int) -> None:
    if carried := _stream_bytes(at, data):
        connection.received += carried
        connection.of_receiver.add(t_ns, connection.received)
    header = data.get("header")
    space = _space(header if isinstance(header, dict) else {})
    before = connection.delivered, connection.acked
    for i, frame in enumerate(_frames(data)):
        if frame.get("frame_type") != "ack":
            continue
        inside = at.at("frames", i)
        for low, high in _ranges(inside, frame):
            for number in _known(connection, space, low, high):
                connection.acked += connection.sent.pop((space, number))
                connection.delivered += 1
        if "ce" in frame:
            marks = inside.at("ce").count(frame["ce"])
            connection.marks[space] = max(marks, connection.marks.get(space, 0))
            connection.note("delivered_ce", t_ns, sum(connection.marks.values()))
    if connection.delivered != before[0]:
        connection.note("delivered", t_ns, connection.delivered)
    if connection.acked != before[1]:
        connection.of_sender.add(t_ns, connection.acked)


def _known(connection: _Connection, space: str, low: int, high: int) -> list[int]:
    """Return the packets of a range that are outstanding."""
    if high - low < len(connection.sent):
        return [number for number in range(low, high + 1) if (space, number) in connection.sent]
    return [number for where, number in connection.sent if where == space and low <= number <= high]


def _ranges(at: FilePlace, frame: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Yield first and last packet number of each range of an ACK frame: `[[1, 4], [7]]`."""
    listed = at.at("acked_ranges").listing(frame.get("acked_ranges", []))
    for i, each in enumerate(listed[:_MOST_RANGES]):
        inside = at.at("acked_ranges", i)
        ends = [inside.count(end) for end in (each if isinstance(each, list) else [each])]
        if len(ends) not in (1, 2) or ends[0] > ends[-1]:
            raise inside.wrong("is no range", "first and last packet number, such as [1, 4]")
        yield ends[0], ends[-1]


def _space(header: Mapping[str, Any]) -> str:
    """Return the packet number space of a packet (RFC 9000, section 12.3)."""
    kind = header.get("packet_type")
    return str(kind) if kind in ("initial", "handshake") else "application"


def _numbered(at: FilePlace, data: Mapping[str, Any]) -> tuple[str, int] | None:
    header = data.get("header")
    if not isinstance(header, dict) or header.get("packet_number") is None:
        return None
    return _space(header), at.at("header", "packet_number").count(header["packet_number"])


def _frames(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    frames = data.get("frames")
    return [frame for frame in frames if isinstance(frame, dict)] if isinstance(frames, list) else []


def _stream_bytes(at: FilePlace, data: Mapping[str, Any]) -> int:
    """Return the payload of the STREAM frames of a packet."""
    carried = 0
    for i, frame in enumerate(_frames(data)):
        if frame.get("frame_type") == "stream":
            raw = frame.get("raw")
            length = frame.get("length")
            if length is None and isinstance(raw, dict):
                length = raw.get("payload_length", raw.get("length"))
            carried += at.at("frames", i, "length").count(length) if length is not None else 0
    return carried


def _traces(content: bytes, place: FilePlace) -> Iterator[_Trace]:
    """Yield the traces of a file."""
    check_values(content, place)
    if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != _SEPARATOR and not _is_lines(content):
        document = place.mapping(parsed(content, place))
        _check(document, place)
        at, traces = place.item(document, "traces")
        for i, listed in enumerate(at.listing(traces)):
            trace = at.at(i).mapping(listed)
            if "error_description" not in trace:
                inside, events = at.at(i).item(trace, "events")
                numbered = ((inside.at(n), event) for n, event in enumerate(inside.listing(events)))
                yield _Trace(at.at(i), trace, numbered, i + 1, _tool(document, trace))
        return
    records = _records(content, place)
    at, first = next(records)
    head = at.mapping(first)
    _check(head, at)
    trace = at.at("trace").mapping(head.get("trace") or {})
    yield _Trace(at.at("trace"), trace, records, 1, _tool(head, trace))


def _is_lines(content: bytes) -> bool:
    """True if the first line is a document by itself and another follows."""
    first, newline, rest = content.strip().partition(b"\n")
    try:
        return bool(newline and rest) and isinstance(json.loads(first), dict)
    except ValueError:
        return False


def _records(content: bytes, place: FilePlace) -> Iterator[tuple[FilePlace, Any]]:
    """Yield the records of a sequence. One that was cut off at the end is left out, as RFC 7464 wants it."""
    separator = _SEPARATOR if _SEPARATOR in content[:4096] else b"\n"
    parts = content.split(separator)
    for number, part in enumerate(parts):
        if not part.strip():
            continue
        at = place.at(f"record {number}")
        try:
            yield at, json.loads(as_text(part, at))
        except (ValueError, RecursionError) as error:
            if number == len(parts) - 1 and number > 1:
                return
            raise not_json(at, error) from None


def _check(head: Mapping[str, Any], place: FilePlace) -> None:
    """Raises `BadInput` for a version that this reader does not know."""
    version, schema = head.get("qlog_version"), head.get("file_schema")
    if schema is not None:
        if not isinstance(schema, str) or not _SCHEMA.fullmatch(schema):
            raise place.at("file_schema").wrong(f"is {schema!r}"[:80], "urn:ietf:params:qlog:file:contained or :sequential")
    elif not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise place.at("qlog_version").wrong(f"is {version!r}"[:80], "0.3 or 0.4, or a file_schema")


def _tool(head: Mapping[str, Any], trace: Mapping[str, Any]) -> str:
    """Return what the file says that it is of."""
    point = trace.get("vantage_point")
    name = point.get("name") if isinstance(point, dict) else None
    version = head.get("qlog_version", "with file_schema")
    return f"{_plain(name)} (qlog {_plain(version)})" if name else f"a QUIC stack (qlog {_plain(version)})"
