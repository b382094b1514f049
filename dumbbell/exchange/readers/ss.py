"""Polls of `ss -tin`. Before each poll is the time, as `Time: S` (Flent's ss_iterate.sh writes it so) or S alone on a line, in s since
1970, from `date +%s.%N`.

The reader takes these fields of a connection: `cwnd`, `ssthresh`, `rtt` (smoothed), `minrtt`, `delivered`, `delivered_ce`, `retrans` (the
total), the segments in flight (unacked - sacked - lost + retrans, as Linux counts them), and bytes: those that were acknowledged, or those
received if they are more. A connection may take two lines or one (`ss -O`).

If both ends of a connection are polled (two hosts in one namespace, the loopback), they are one flow: it has the sender's values of itself,
and the bytes that the receiver says were received. Connections by which measuring programs talk to each other are no flows: those whose
sender had nothing more to send at any poll (`app_limited`), and that carried a thousandth of what another one did between the same hosts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dumbbell.exchange.imported import Found, FoundFlow, Points
from dumbbell.exchange.reading import FilePlace, lines
from dumbbell.results.imported import UNKNOWN_CC

VERSION = 2
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
_LITTLE = 1000
"""A connection carried next to nothing if another one carried more than this many times as much."""

_Socket = tuple[str, int]
"""Address and port."""


@dataclass
class _End:
    """One end of a connection, as it was polled."""

    local: _Socket
    peer: _Socket
    cc: str = UNKNOWN_CC
    segment_bytes: int | None = None
    always_limited: bool = True
    """Its application had nothing more to send at any poll."""
    points: dict[str, Points] = field(default_factory=dict)
    acked: Points = field(default_factory=Points)
    received: Points = field(default_factory=Points)

    @property
    def name(self) -> str:
        """Return the name of its flow."""
        return f"{_shown(self.local)}-{_shown(self.peer)}"

    @property
    def hosts(self) -> frozenset[str]:
        """The addresses of both ends."""
        return frozenset((self.local[0], self.peer[0]))

    @property
    def sent(self) -> float:
        """Bytes that were acknowledged in the end."""
        return self.acked.values[-1]

    @property
    def carried(self) -> float:
        """Bytes that it sent or received, whichever are more."""
        return max(self.sent, self.received.values[-1])


def recognises(content: bytes) -> bool:
    """True if a file looks like one."""
    head = content[:20_000].decode("utf-8", "replace")
    return "cwnd:" in head and any(_CONNECTION.match(line) for line in head.splitlines())


def found_in(content: bytes, place: FilePlace) -> list[Found]:
    """Return the content of a file. Raises `BadInput`."""
    ends: dict[tuple[_Socket, _Socket], _End] = {}
    zero_s: float | None = None
    t_s: float | None = None
    for at, line, info in _joined(lines(content, place), place):
        if time := _TIME.fullmatch(line):
            t_s = at.number(time[1], 0.0, 1e12)
            zero_s = t_s if zero_s is None else zero_s
            continue
        connection = _CONNECTION.fullmatch(line)
        if connection is None:
            raise at.wrong(f"is {line[:60]!r}", "a time, a header of ss, or a connection")
        if t_s is None or zero_s is None:
            raise at.wrong("a connection comes before any time", "`date +%s.%N` before each ss")
        host, port, other_host, other_port, more = connection.groups()
        if not (info := f"{more} {info}").strip() or "cwnd:" not in info:
            continue  # listening, or about to close
        local, peer = (_address(host), at.count(port)), (_address(other_host), at.count(other_port))
        end = ends.setdefault((local, peer), _End(local, peer))
        at.few(ends)
        at.name(end.name)
        _read(end, at, info, at.time_ns(t_s, zero_s))
    senders = [end for end in ends.values() if not _is_receiver(end, ends)]
    most: dict[frozenset[str], float] = defaultdict(float)
    """Hosts -> bytes of the connection between them that carried most."""
    for end in senders:
        most[end.hosts] = max(most[end.hosts], end.carried)
    talk = [end for end in senders if _is_talk(end, most[end.hosts])]
    flows = [_flow(end, ends.get((end.peer, end.local))) for end in senders if not _is_talk(end, most[end.hosts])]
    unknown = ["rx_bytes is what the other end acknowledged, or of downloads what was received; drops, marks and queues are not known"]
    if talk:
        said = ", ".join(f"{end.name} ({end.carried:.0f} bytes)" for end in talk)
        unknown.append(f"not read, as connections by which the programs that measured talked to each other: {said}")
    return [Found("ss", unknown, flows)]


def _joined(text: Iterable[str], place: FilePlace) -> Iterator[tuple[FilePlace, str, str]]:
    """Lines with their places, and the indented ones that follow each; without headers and empty ones."""
    held: tuple[FilePlace, str] | None = None
    more: list[str] = []
    for number, line in enumerate(text, 1):
        if not line.strip() or _HEADER.match(line):
            continue
        if line[0] in " \t" and held is not None:
            more.append(line.strip())
            continue
        if held is not None:
            yield *held, " ".join(more)
        held, more = (place.line(number), line.strip()), []
    if held is not None:
        yield *held, " ".join(more)


def _address(written: str) -> str:
    """An address without brackets and interface. A socket that takes both versions of IP has IPv4's within IPv6's."""
    bare = written.removeprefix("[").removesuffix("]").partition("%")[0]
    return bare.removeprefix("::ffff:") if "." in bare else bare


def _shown(socket: _Socket) -> str:
    address, port = socket
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _read(end: _End, at: FilePlace, info: str, t_ns: int) -> None:
    def number(key: str) -> float | None:
        match = re.search(rf"(?:^|\s){key}:{_NUMBER}", info)
        return None if match is None else at.number(match[1])

    words = info.split()
    for word in words:
        if ":" in word and end.cc == UNKNOWN_CC:
            break  # the congestion control comes before all that has a value
        if _CONTROL.fullmatch(word) and word not in _FLAGS:
            end.cc = word
            break
    if mss := number("mss"):
        end.segment_bytes = int(mss)
    end.always_limited &= "app_limited" in words
    values = {series: number(key) for key, series in _GAUGES.items()}
    again = re.search(r"(?:^|\s)retrans:(\d+)/(\d+)", info)
    if again is not None:
        values["retransmits"] = at.number(again[2])
    if "unacked" in info or values["cwnd"] is not None:
        flight = sum(sign * (number(key) or 0.0) for key, sign in _IN_FLIGHT.items()) + (at.number(again[1]) if again else 0.0)
        values["inflight"] = max(0.0, flight)
    end.acked.add(t_ns, number("bytes_acked") or 0.0)
    end.received.add(t_ns, number("bytes_received") or 0.0)
    for name, value in values.items():
        if value is not None:
            end.points.setdefault(name, Points()).add(t_ns, value)


def _is_receiver(end: _End, ends: Mapping[tuple[_Socket, _Socket], _End]) -> bool:
    """True if the other end was polled, too, and sent more."""
    other = ends.get((end.peer, end.local), end)
    return (other.sent, other.local) > (end.sent, end.local)


def _is_talk(end: _End, most: float) -> bool:
    """True if programs only talk by a connection. `most`: bytes that the largest connection between its hosts carried."""
    # An end that only receives knows nothing about the sender.
    sends = end.sent >= end.received.values[-1]
    return sends and end.always_limited and end.carried * _LITTLE < most


def _flow(end: _End, other: _End | None) -> FoundFlow:
    """The flow of a connection; `other` is its other end, if that was polled."""
    flow = FoundFlow(end.name, cc=end.cc, segment_bytes=end.segment_bytes, ports=(end.local[1], end.peer[1]))
    sends = end.sent >= end.received.values[-1]
    if other is None or other is end:
        flow.direction = "forward" if sends else "reverse"  # which way the data went is the way of most bytes in the end
    else:
        flow.direction = "forward" if end.local[1] >= end.peer[1] else "reverse"  # servers have the lower ports
    whole = end.acked if sends else end.received
    if sends and other is not None and other.received.values[-1]:
        whole = other.received
    if whole.values[-1]:
        end.points["rx_bytes"] = whole
        # The time of the bytes before the first poll is not known.
        flow.columns["rx_bytes"] = int(whole.values[-1] - whole.values[0])
    if sends:  # ss has the total only from the first retransmission
        again = end.points.get("retransmits")
        flow.columns["retransmits"] = int(again.values[-1]) if again else 0
    flow.series = {name: points.samples() for name, points in end.points.items()}
    return flow
