"""Polls of `ss -tin`: before each the time, as `Time: S` (as Flent's ss_iterate.sh writes it) or S alone on a line, in s since 1970, of
`date +%s.%N`.

Of a connection are read `cwnd`, `ssthresh`, `rtt` (smoothed), `minrtt`, `delivered`, `delivered_ce`, `retrans` (the total), what is in
flight (unacked - sacked - lost + retrans, as Linux counts it), and bytes: those that were acknowledged, or received where more were. Its
lines may be apart or one (`ss -O`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dumbbell.exchange.imported import Found, FoundFlow, samples
from dumbbell.exchange.reading import Place, as_text
from dumbbell.results.imported import UNKNOWN_CC

VERSION = 1
_TIME = re.compile(r"(?:Time:\s*)?(\d{1,12}(?:\.\d+)?)\s*")
_STATES = "ESTAB|SYN-SENT|SYN-RECV|FIN-WAIT-1|FIN-WAIT-2|TIME-WAIT|UNCONN|CLOSE-WAIT|LAST-ACK|LISTEN|CLOSING"
_CONNECTION = re.compile(rf"(?:tcp\s+)?(?:{_STATES})\s+\d+\s+\d+\s+(\S+):(\d+|\*)\s+(\S+):(\d+|\*)\s*(.*)")
_HEADER = re.compile(r"(Netid\s+)?State\s+Recv-Q.*")
_NUMBER = r"(\d+(?:\.\d+)?)"
_GAUGES = {
    "cwnd": "cwnd",
    "ssthresh": "ssthresh",
    "rtt": "srtt_ms",
    "minrtt": "min_rtt_ms",
    "delivered": "delivered",
    "delivered_ce": "delivered_ce",
}
_IN_FLIGHT = {"unacked": 1, "sacked": -1, "lost": -1}
_CONTROL = re.compile(r"[a-z][a-z0-9_]*")
_FLAGS = {"ts", "sack", "ecn", "ecnseen", "fastopen"}
"""Words that come before the congestion control."""


def recognises(content: bytes) -> bool:
    """Whether a file looks like one."""
    head = content[:20_000].decode("utf-8", "replace")
    return "cwnd:" in head and any(_CONNECTION.match(line) for line in head.splitlines())


def found_in(content: bytes, place: Place) -> list[Found]:
    """What a file holds. Raises `BadInput`."""
    flows: dict[str, FoundFlow] = {}
    points: dict[str, dict[str, list[tuple[int, float]]]] = {}
    zero_s: float | None = None
    t_s: float | None = None
    for at, line, info in _joined(as_text(content, place), place):
        if time := _TIME.fullmatch(line):
            t_s = at.number(time[1], 0.0, 1e12)
            zero_s = t_s if zero_s is None else zero_s
            continue
        connection = _CONNECTION.fullmatch(line)
        if connection is None:
            raise at.wrong(f"is {line[:60]!r}", "a time, a header of ss, or a connection")
        if t_s is None or zero_s is None:
            raise at.wrong("a connection comes before any time", "`date +%s.%N` before each ss")
        local, port, peer, peer_port, more = connection.groups()
        if not (info := f"{more} {info}").strip() or "cwnd:" not in info:
            continue  # listening, or about to close
        name = at.name(f"{local}:{port}-{peer}:{peer_port}")
        flow = flows.setdefault(name, FoundFlow(name, ports=(at.count(port), at.count(peer_port))))
        _read(flow, points.setdefault(name, {}), at, info, at.time_ns(t_s, zero_s))
    for name, flow in flows.items():
        _finish(flow, points[name])
    unknown = ["rx_bytes is what the other end acknowledged, or of downloads what was received; drops, marks and queues are not known"]
    return [Found("ss", unknown, list(flows.values()))]


def _joined(text: str, place: Place) -> Iterator[tuple[Place, str, str]]:
    """Lines with their places, and the indented ones that follow each; without headers and empty ones."""
    held: tuple[Place, str, str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or _HEADER.match(line):
            continue
        if line[0] in " \t" and held is not None:
            held = (held[0], held[1], f"{held[2]} {line.strip()}")
            continue
        if held is not None:
            yield held
        held = (place.line(number), line.strip(), "")
    if held is not None:
        yield held


def _read(flow: FoundFlow, found: dict[str, list[tuple[int, float]]], at: Place, info: str, t_ns: int) -> None:
    def number(key: str) -> float | None:
        match = re.search(rf"(?:^|\s){key}:{_NUMBER}", info)
        return None if match is None else at.number(match[1])

    for word in info.split():
        if ":" in word and flow.cc == UNKNOWN_CC:
            break  # the control comes before all that has a value
        if _CONTROL.fullmatch(word) and word not in _FLAGS:
            flow.cc = word
            break
    if mss := number("mss"):
        flow.segment_bytes = int(mss)
    values = {series: number(key) for key, series in _GAUGES.items()}
    again = re.search(r"(?:^|\s)retrans:(\d+)/(\d+)", info)
    if again is not None:
        values["retransmits"] = at.number(again[2])
    if "unacked" in info or values["cwnd"] is not None:
        flight = sum(sign * (number(key) or 0.0) for key, sign in _IN_FLIGHT.items()) + (at.number(again[1]) if again else 0.0)
        values["inflight"] = max(0.0, flight)
    values["acked"], values["received"] = number("bytes_acked") or 0.0, number("bytes_received") or 0.0
    for name, value in values.items():
        if value is not None:
            found.setdefault(name, []).append((t_ns, value))


def _finish(flow: FoundFlow, found: dict[str, list[tuple[int, float]]]) -> None:
    """Which way the data went is the way of most bytes in the end."""
    acked, received = found.pop("acked"), found.pop("received")
    forward = acked[-1][1] >= received[-1][1]
    flow.direction = "forward" if forward else "reverse"
    read = acked if forward else received
    if read[-1][1]:
        found["rx_bytes"] = read
        # What was there before the first poll is of no time that is known.
        flow.columns["rx_bytes"] = int(read[-1][1] - read[0][1])
    if forward:  # ss has the total only from the first segment that is sent again
        flow.columns["retransmits"] = int(found["retransmits"][-1][1]) if "retransmits" in found else 0
    flow.series = {name: samples(points) for name, points in found.items()}
