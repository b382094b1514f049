"""Datagrams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from dumbbell.scenario.problems import Location
from dumbbell.scenario.tcp import Start
from dumbbell.scenario.traffic.base import Traffic, Wrong
from dumbbell.scenario.units import FRAME_BYTES, Duration, Rate, Size

_NS_PER_S = 10**9
_LEAST_FRAME = Size.parse("64B")


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
