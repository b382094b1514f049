"""Streaming by chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from dumbbell.catalogue.feature import Feature
from dumbbell.documents.problems import Location
from dumbbell.scenario.generated import traffic as generated
from dumbbell.scenario.tcp import Start
from dumbbell.scenario.traffic.base import Wrong, segments
from dumbbell.scenario.units import Duration, Size

_BITS_NS = 8 * 10**9


class Streaming(generated.Streaming):
    __doc__ = generated.Streaming.__doc__

    feature: ClassVar[Feature] = Feature.STREAMING
    words: ClassVar[Mapping[str, Location]] = {"tcp.opener": ("opens",), "chunk_bytes": ("bitrate",), "count": ("chunks",)}

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
        if not self.chunk:
            yield from super().wrong(duration)
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
