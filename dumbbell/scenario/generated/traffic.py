"""Traffic as the catalogue has it. Made by docs/catalogue.py from dumbbell/catalogue/catalogue.json, and not edited by hand."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dumbbell.documents.model import Flag
from dumbbell.scenario.tcp import Connections, Start
from dumbbell.scenario.traffic.arrivals import Arrivals
from dumbbell.scenario.traffic.base import Traffic
from dumbbell.scenario.traffic.datagrams import Datagrams
from dumbbell.scenario.units import Duration, Rate, Size
from dumbbell.scenario.values.distributions import Drawn


class Exchange(Traffic, Connections):
    """Requests and responses over TCP connections that stay open: the client asks, the server answers once it has read the whole
    request, and the client asks again after a time of thinking."""

    kind: Literal["exchange"] = "exchange"
    direction: Literal["forward", "reverse", "both"] = "forward"
    """Direction of the requests; responses go the other way. `src` is the client's host, `dst` the server's."""
    connections: Annotated[int, Field(ge=1, le=100000)] = 1
    """Number of connections. Each is a client of its own."""
    start: Start = Start()
    """Time at which they are opened."""
    opens: Literal["client", "server"] = "client"
    """The end that calls connect(). In either case the client asks first."""
    request: Drawn[Size]
    """Size of a request."""
    response: Drawn[Size]
    """Size of a response."""
    count: Annotated[int, Field(ge=1)] | None = None
    """Requests over each connection; by default as many as there is time for."""
    think: Drawn[Duration] = Duration.parse("0s")
    """Time from the last byte of a response to the next request."""


class OnOff(Traffic, Connections):
    """TCP whose application limits it: it produces data at a rate, always or in periods with pauses between. The network does not change
    the rate."""

    kind: Literal["onoff"] = "onoff"
    direction: Literal["forward", "reverse", "both"] = "forward"
    """Direction of the data. `src` is the source's host."""
    connections: Annotated[int, Field(ge=1, le=100000)] = 1
    """Number of connections. Each is a source of its own."""
    start: Start = Start()
    """Time at which they are opened; they produce the first data then."""
    opens: Literal["sender", "receiver"] = "sender"
    """The end that calls connect()."""
    rate: Rate | None = None
    """Rate of the payload while it is on. Without a rate a whole `burst` is written at once."""
    write: Size = Size.parse("10kB")
    """Size of a write. A write is due every `write` / `rate`."""
    on: Drawn[Duration] | None = None
    """Length of each time that it is on; by default it is always on."""
    burst: Drawn[Size] | None = None
    """Bytes that it produces each time that it is on, in place of `on`."""
    off: Drawn[Duration] = Duration.parse("0s")
    """Pause from the end of one such time to the next."""


class Page(Traffic, Connections):
    """Pages that a browser loads: many objects over several connections, each of which carries one request at a time (HTTP/1.1 with
    persistent connections)."""

    kind: Literal["page"] = "page"
    direction: Literal["forward", "reverse", "both"] = "forward"
    """Direction of the requests; objects go the other way. `src` is the browser's host, `dst` the server's."""
    clients: Annotated[int, Field(ge=1, le=10000)] = 1
    """Browsers, each with connections of its own."""
    start: Start = Start()
    """Time at which a browser opens its connections and begins with its first page."""
    opens: Literal["client", "server"] = "client"
    """The end that calls connect()."""
    connections: Annotated[int, Field(ge=1, le=100)] = 6
    """Connections of a browser. It opens all at the start and keeps them open."""
    objects: Annotated[int, Field(ge=1, le=1000000)] = 50
    """Objects of a page, without the first."""
    size: Drawn[Size]
    """Size of each object."""
    first: Drawn[Size] | None = None
    """Size of an object that must arrive before the browser asks for the others; by default there is none."""
    request: Drawn[Size] = Size.parse("300B")
    """Size of the request for each object."""
    think: Drawn[Duration] = Duration.parse("0s")
    """Time from the last byte of a page to the request for the next."""
    pages: Annotated[int, Field(ge=1)] | None = None
    """Pages of each browser; by default as many as there is time for."""


class Ping(Datagrams):
    """ICMP echo requests, which the other host answers at once."""

    kind: Literal["ping"] = "ping"
    interval: Drawn[Duration] = Duration.parse("200ms")
    """Time from one request to the next."""
    size: Drawn[Size] = Size.parse("98B")
    """Frame size: 14 bytes Ethernet, 28 IP and ICMP, the rest payload. ping(8) has a payload of 56 bytes."""
    count: Annotated[int, Field(ge=1)] | None = None
    """Requests; by default as many as there is time for."""


class Streaming(Traffic, Connections):
    """Players that ask for one chunk after the other, each as soon as there is room in the buffer, and play the chunks."""

    kind: Literal["streaming"] = "streaming"
    direction: Literal["forward", "reverse", "both"] = "forward"
    """Direction of the requests; chunks go the other way. `src` is the player's host, `dst` the server's."""
    connections: Annotated[int, Field(ge=1, le=100000)] = 1
    """Number of connections. Each is a player of its own."""
    start: Start = Start()
    """Time at which they are opened."""
    opens: Literal["client", "server"] = "client"
    """The end that calls connect()."""
    bitrate: Rate
    """Bitrate of the stream. There is one bitrate, and no ladder of several to choose from."""
    chunk: Duration = Duration.parse("4s")
    """Playing time of a chunk; its size is that at `bitrate`."""
    buffer: Duration = Duration.parse("30s")
    """Size of a player's buffer, in playing time. The player asks for a chunk when there is room for it."""
    start_at: Duration | None = None
    """Playing time that must be in the buffer before it plays, at first and after a stall; by default a chunk."""
    request: Size = Size.parse("300B")
    """Size of the request for each chunk."""
    chunks: Annotated[int, Field(ge=1)] | None = None
    """Number of chunks; by default there is no end."""


class Transfers(Traffic, Connections):
    """Sized transfers. Each has a TCP connection of its own, which is made at its time of arrival and goes when the transfer is
    complete."""

    kind: Literal["transfers"] = "transfers"
    direction: Literal["forward", "reverse", "both"] = "forward"
    """Direction of the data; ACKs go the other way."""
    start: Duration = Duration.parse("0s")
    """Time from which connections are made."""
    duration: Duration | None = None
    """Time during which connections are made; existing ones then go on. By default to the end of the run."""
    size: Drawn[Size] | None = None
    """Payload of each; a trace has its own."""
    rtt: Drawn[Duration] | None = None  # type: ignore[assignment]
    """Base RTT of each instead of the path's. A drawn RTT falls into one of 64 classes: the quantiles of the distribution in the middle
    of each 64th, to the microsecond."""
    exact_rtts: Flag = False
    """Gives each connection the RTT that is drawn, not that of a class."""
    arrivals: Arrivals
    """Times at which connections are made."""
    count: Annotated[int, Field(ge=1)] | None = None
    """Maximum number of connections; by default as many as there is time for."""
    rows: Flag = False
    """Gives each connection a row in the table of flows. Otherwise there is only the row of all together, in the table of groups."""


class Udp(Datagrams):
    """Datagrams that do not respond to congestion. The other end may send them back, and they may measure."""

    kind: Literal["udp"] = "udp"
    rate: Rate | None = None
    """Rate while it sends, in Ethernet frames, as the shapers count. Give either this or `interval`."""
    interval: Drawn[Duration] | None = None
    """Time from one datagram to the next."""
    size: Drawn[Size] = Size.parse("1514B")
    """Frame size: 14 bytes Ethernet, 28 IP and UDP, the rest payload."""
    on: Drawn[Duration] | None = None
    """Time for which it sends before it is silent for `off`, in turns. By default it sends all the time."""
    off: Drawn[Duration] | None = None
    """Time for which it is silent after each time of sending."""
    count: Annotated[int, Field(ge=1)] | None = None
    """Maximum number of datagrams; by default as many as there is time for."""
    reply: Flag = False
    """True if the other end sends each datagram back as soon as it arrives, as irtt does."""
    measure: Flag | None = None
    """True if delays, jitter and losses are results; by default if there are replies."""


class Voip(Datagrams):
    """One way of a voice call: G.711 over RTP, a packet every 20 ms, without silence suppression. `direction: both` is a conversation."""

    kind: Literal["voip"] = "voip"
    buffer: Duration = Duration.parse("60ms")
    """Playout buffer: the first packet that arrives is played after this time, and the others with the same delay from their sending. A
    packet that arrives later is lost to the listener."""
