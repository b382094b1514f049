"""Streaming by chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from dumbbell.catalogue.feature import Feature
from dumbbell.documents.problems import Location
from dumbbell.scenario.tcp import Connections, Start
from dumbbell.scenario.traffic.base import MOST_RESPONSE, Traffic, Wrong, check_sizes, segments
from dumbbell.scenario.units import Duration, Rate, Size

_BITS_NS = 8 * 10**9


class Streaming(Traffic, Connections):
    """Players that ask for one chunk after the other, each as soon as there is room in the buffer, and play the chunks."""

    feature: ClassVar[Feature] = Feature.STREAMING
    words: ClassVar[Mapping[str, Location]] = {"tcp.opener": ("opens",), "chunk_bytes": ("bitrate",), "count": ("chunks",)}

    kind: Literal["streaming"] = "streaming"
    direction: Literal["forward", "reverse", "both"] = "forward"
    """Direction of the requests; chunks go the other way. `src` is the player's host, `dst` the server's."""
    connections: Annotated[int, Field(ge=1, le=100_000)] = 1
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

    @property
    def starts(self) -> tuple[Start, int]:
        """Each player."""
        return self.start, self.connections

    @property
    def opener(self) -> Literal["from", "to"]:
        """The player's end is `from`."""
        return "from" if self.opens == "client" else "to"

    @property
    def _chunk_bytes(self) -> Size:
        return Size(int(self.chunk) * int(self.bitrate) // _BITS_NS)

    def planned(self) -> dict[str, Any]:
        """Sizes and times."""
        return {
            "request_bytes": int(self.request),
            "chunk_ns": int(self.chunk),
            "chunk_bytes": int(self._chunk_bytes),
            "buffer_ns": int(self.buffer),
            "start_at_ns": int(self.chunk if self.start_at is None else self.start_at),
            "count": self.chunks,
        }

    def packets(self, span_ns: int) -> int:
        """Return the packets of what is played, and of what is in the buffer in the end."""
        chunks = (span_ns + int(self.buffer)) // max(1, int(self.chunk))
        chunks = chunks if self.chunks is None else min(chunks, self.chunks)
        return self.connections * chunks * (segments(self.request, self) + segments(self._chunk_bytes, self))

    def wrong(self, duration: Duration) -> Wrong:
        """Also yield chunks of nothing, and a buffer that is too small to start playing."""
        yield from check_sizes(MOST_RESPONSE, request=self.request)
        if not self.chunk:
            yield ("chunk",), "0s is no time at all", "a time above 0"
            return
        if not self._chunk_bytes:
            yield ("bitrate",), f"{self.bitrate} for {self.chunk} is less than a byte", "more"
        if self.buffer < self.chunk:
            yield ("buffer",), f"{self.buffer} has no room for a chunk of {self.chunk}", f"at least {self.chunk}"
            return
        most = Duration(self.buffer - self.buffer % self.chunk)
        if self.start_at is not None and not 0 < self.start_at <= most:
            yield ("start_at",), f"{self.start_at} never is in a buffer of whole chunks", f"above 0s, at most {most}"
        yield from super().wrong(duration)
