"""Traffic beside bulk flows: what a user writes, with defaults and checks, what the plan has of it, the feature that an engine must name.

A kind is a class here with an entry in `Background`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from dumbbell.scenario.base import Kinded, Name
from dumbbell.scenario.problems import Location
from dumbbell.scenario.tcp import Connections, Start
from dumbbell.scenario.units import FRAME_BYTES, Duration, Rate, Size

__all__ = ["Arrivals", "Exchange", "Transfers", "Udp"]  # exported by dumbbell and dumbbell.scenario

_NS_PER_S = 10**9
_LEAST_FRAME = Size.parse("64B")
_SEGMENT_BYTES = 1448
_MOST_SEGMENTS = (1 << 32) - 3
"""Of a direction of a connection: sequence numbers count them in 32 bits."""
_MOST_BYTES = Size(_MOST_SEGMENTS * _SEGMENT_BYTES)

Wrong = Iterator[tuple[Location, str, str]]
"""Key, what is wrong, and what was expected."""


class Traffic(Kinded):
    """Base class of all kinds."""

    feature: ClassVar[str]
    """What an engine's table calls it."""
    words: ClassVar[Mapping[str, Location]] = {}
    """Names of fields of the plan where they differ from the keys by more than the unit, see `plan.provenance`."""

    kind: str
    name: Name | None = None
    """By default the kind; several that share a name are numbered."""
    direction: Literal["forward", "reverse", "both"] = "forward"
    duration: Duration | None = None
    """From the start; by default to the end of the run."""

    @property
    @abstractmethod
    def starts(self) -> tuple[Start, int] | Duration:
        """When the connections or streams start that are there from the start of the run, and how many there are; or from when on
        connections are made."""

    @abstractmethod
    def planned(self) -> dict[str, Any]:
        """What the plan has of it, in ns, bit/s, bytes and packets, beside ends, times and what TCP connections have in common."""

    @abstractmethod
    def packets(self, span_ns: int) -> int | None:
        """Data packets in a time of `span_ns`, retransmissions left out; None if only the network limits it."""

    @property
    def transfer(self) -> Size | None:
        """Payload of each connection, if it is a sized transfer."""
        return None

    @property
    def opener(self) -> Literal["from", "to"]:
        """Which end of a connection calls connect()."""
        return "from"

    @property
    def is_random(self) -> bool:
        """Whether runs with different seeds differ."""
        return isinstance(self.starts, tuple) and bool(self.starts[0].jitter)

    def wrong(self, duration: Duration) -> Wrong:
        """What can never work in a run of this duration."""
        if isinstance(self.starts, tuple):
            start, count = self.starts
            last = start.first + (count - 1) * start.every + start.jitter
        else:
            last = self.starts
        if duration and last >= duration:
            yield ("start",), f"{Duration(last)} is not within the run's {duration}", "an earlier time"
        if self.duration == 0:
            yield ("duration",), "0s is no time at all", "a time above 0"


class Udp(Traffic):
    """Unresponsive datagrams at a constant rate."""

    feature: ClassVar[str] = "UDP"
    words: ClassVar[Mapping[str, Location]] = {"interval_ns": ("rate",)}

    kind: Literal["udp"] = "udp"
    start: Duration = Duration(0)
    rate: Rate
    """In Ethernet frames, as the shapers count."""
    size: Size = Size.parse("1514B")
    """Of a frame: 14 bytes Ethernet, 28 IP and UDP, the rest payload."""

    @property
    def starts(self) -> tuple[Start, int]:
        """One stream."""
        return Start(first=self.start), 1

    def planned(self) -> dict[str, Any]:
        """Interval and size of a frame."""
        return {"interval_ns": int(self.size) * 8 * _NS_PER_S // int(self.rate), "size_bytes": int(self.size)}

    def packets(self, span_ns: int) -> int:
        """One every interval."""
        interval_ns: int = self.planned()["interval_ns"]
        return span_ns // interval_ns

    def wrong(self, duration: Duration) -> Wrong:
        """Also frame sizes that Ethernet does not have, and rates of several datagrams a microsecond."""
        if not _LEAST_FRAME <= self.size <= FRAME_BYTES:
            yield ("size",), f"{self.size} is no Ethernet frame", f"{_LEAST_FRAME} to {FRAME_BYTES}B"
        most = Rate(int(self.size) * 8 * 10**6)
        if most < self.rate:
            yield ("rate",), f"{self.rate} are several datagrams of {self.size} a microsecond", f"at most {most}"
        yield from super().wrong(duration)


class Exchange(Traffic, Connections):
    """Requests and responses over TCP connections that stay open: the client asks, the server answers once it has read the whole request,
    and the client asks again after a time of thinking."""

    feature: ClassVar[str] = "exchanges"
    words: ClassVar[Mapping[str, Location]] = {"tcp.opener": ("opens",)}

    kind: Literal["exchange"] = "exchange"
    direction: Literal["forward", "reverse", "both"] = "forward"
    """Of the requests; responses go the other way. `src` is the client's host, `dst` the server's."""
    connections: Annotated[int, Field(ge=1, le=100_000)] = 1
    """Each is a client of its own."""
    start: Start = Start()
    """When they are opened."""
    opens: Literal["client", "server"] = "client"
    """Who calls connect(). Whoever does, the client asks first."""
    request: Size
    response: Size
    count: Annotated[int, Field(ge=1)] | None = None
    """Requests over each connection; by default as many as there is time for."""
    think: Duration = Duration(0)
    """From the last byte of a response to the next request."""

    @property
    def starts(self) -> tuple[Start, int]:
        """Each connection."""
        return self.start, self.connections

    @property
    def opener(self) -> Literal["from", "to"]:
        """The client's end is `from`."""
        return "from" if self.opens == "client" else "to"

    @property
    def _most(self) -> int:
        """Most requests that sequence numbers can count."""
        return _MOST_SEGMENTS // max(1, _segments(max(self.request, self.response)))

    def planned(self) -> dict[str, Any]:
        """Sizes, number of requests and time of thinking."""
        return {
            "request_bytes": int(self.request),
            "response_bytes": int(self.response),
            "count": self._most if self.count is None else self.count,
            "think_ns": int(self.think),
        }

    def packets(self, span_ns: int) -> int | None:
        """Those of all requests and responses, if their number or the time of thinking limits them."""
        most = [limit for limit in (self.count, span_ns // self.think + 1 if self.think else None) if limit is not None]
        return self.connections * min(most) * (_segments(self.request) + _segments(self.response)) if most else None

    def wrong(self, duration: Duration) -> Wrong:
        """Also sizes of nothing, and more than sequence numbers can count."""
        for key in ("request", "response"):
            if not 0 < getattr(self, key) <= _MOST_BYTES:
                what = f"{getattr(self, key)} is too much" if getattr(self, key) else "0B is nothing"
                yield (key,), what, f"1B to {_MOST_BYTES}"
        if self.count is not None and self.count > self._most:
            yield ("count",), f"{self.count} are more than sequence numbers can count", f"at most {self._most}"
        yield from super().wrong(duration)


class Arrivals(Kinded):
    """When connections are made."""

    kind: Literal["regular", "poisson"]
    every: Duration
    """From one to the next; of a Poisson process on average."""


class Transfers(Traffic, Connections):
    """Sized transfers, each over a TCP connection of its own that is made when its time comes and gone when it is complete."""

    feature: ClassVar[str] = "transfers"
    words: ClassVar[Mapping[str, Location]] = {
        "arrivals.interval_ns": ("arrivals", "every"),
        "arrivals.mean_interval_ns": ("arrivals", "every"),
        "tcp.transfer_bytes": ("size",),
        "ports": (),
    }

    kind: Literal["transfers"] = "transfers"
    direction: Literal["forward", "reverse", "both"] = "forward"
    """Of the data; ACKs go the other way."""
    start: Duration = Duration(0)
    """From when on connections are made."""
    duration: Duration | None = None
    """How long they are made; those that are there then go on. By default to the end of the run."""
    size: Size
    """Payload of each."""
    arrivals: Arrivals
    count: Annotated[int, Field(ge=1)] | None = None
    """Most connections; by default as many as there is time for."""
    rows: bool = False
    """Each has a row in the table of flows; otherwise there is only that of all together, in the table of groups."""

    @property
    def starts(self) -> Duration:
        """From when on connections are made."""
        return self.start

    @property
    def transfer(self) -> Size:
        """Each is a sized transfer."""
        return self.size

    @property
    def is_random(self) -> bool:
        """A Poisson process is."""
        return self.arrivals.kind == "poisson"

    def planned(self) -> dict[str, Any]:
        """Arrivals, number, and whether each has a row."""
        interval = {"regular": "interval_ns", "poisson": "mean_interval_ns"}[self.arrivals.kind]
        arrivals = {"kind": self.arrivals.kind, interval: int(self.arrivals.every)}
        return {"arrivals": arrivals, "count": self.count, "rows": self.rows}

    def made(self, span_ns: int) -> int:
        """About how many connections come in a time of `span_ns`."""
        expected = span_ns // int(self.arrivals.every) + 1
        return expected if self.count is None else min(self.count, expected)

    def packets(self, span_ns: int) -> int:
        """Those of the transfers that are expected."""
        return self.made(span_ns) * _segments(self.size)

    def wrong(self, duration: Duration) -> Wrong:
        """Also transfers of nothing, and arrivals in no time."""
        if not 0 < self.size <= _MOST_BYTES:
            yield ("size",), f"{self.size} is too much" if self.size else "0B is nothing to send", f"1B to {_MOST_BYTES}"
        if self.arrivals.every == 0:
            yield ("arrivals", "every"), "0s is no time at all", "a time above 0"
        elif self.rows and (many := self.made(int(self.duration or duration - self.start))) > _MOST_ROWS:
            yield ("rows",), f"true makes a row for each of about {many} connections", f"at most {_MOST_ROWS}, or false"
        yield from super().wrong(duration)


_MOST_ROWS = 100_000
"""Of connections that are made while the run goes on; a row is a few hundred bytes."""


def _segments(size: Size) -> int:
    return -(-int(size) // _SEGMENT_BYTES)


def kind(value: Any) -> Any:
    """What an entry says it is; datagrams need not say it."""
    return value.get("kind", "udp") if isinstance(value, dict) else getattr(value, "kind", "udp")


Background = Annotated[
    Annotated[Udp, Tag("udp")] | Annotated[Exchange, Tag("exchange")] | Annotated[Transfers, Tag("transfers")], Discriminator(kind)
]
"""Traffic of any kind."""
KINDS: Mapping[str, type[Traffic]] = {str(each.model_fields["kind"].default): each for each in (Udp, Exchange, Transfers)}
"""By `kind`."""
