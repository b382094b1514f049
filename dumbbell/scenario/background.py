"""Traffic beside the flows that are studied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from dumbbell.scenario.base import Kinded, Name
from dumbbell.scenario.problems import Location
from dumbbell.scenario.units import FRAME_BYTES, Duration, Rate, Size

__all__ = ["Udp"]  # exported by dumbbell and dumbbell.scenario

_LEAST_FRAME = Size.parse("64B")


class Traffic(Kinded):
    """Base class of all kinds of background traffic."""

    kind: str
    name: Name | None = None
    """By default the kind; several that share a name are numbered."""
    direction: Literal["forward", "reverse", "both"] = "forward"
    start: Duration = Duration(0)
    duration: Duration | None = None
    """From the start; by default to the end of the run."""

    def wrong(self, duration: Duration) -> Iterator[tuple[Location, str, str]]:
        """Key, what is wrong and what was expected, of what can never work in a run of this duration."""
        if duration and self.start >= duration:
            yield ("start",), f"{self.start} is not within the run's {duration}", "an earlier time"
        if self.duration == 0:
            yield ("duration",), "0s is no time at all", "a time above 0"


class Udp(Traffic):
    """Unresponsive datagrams at a constant rate."""

    kind: Literal["udp"] = "udp"
    rate: Rate
    """In Ethernet frames, as the shapers count."""
    size: Size = Size.parse("1514B")
    """Of a frame: 14 bytes Ethernet, 28 IP and UDP, the rest payload."""

    def wrong(self, duration: Duration) -> Iterator[tuple[Location, str, str]]:
        """Also frame sizes that Ethernet does not have, and rates of several datagrams a microsecond."""
        if not _LEAST_FRAME <= self.size <= FRAME_BYTES:
            yield ("size",), f"{self.size} is no Ethernet frame", f"{_LEAST_FRAME} to {FRAME_BYTES}B"
        most = Rate(int(self.size) * 8 * 10**6)
        if most < self.rate:
            yield ("rate",), f"{self.rate} are several datagrams of {self.size} a microsecond", f"at most {most}"
        yield from super().wrong(duration)


Background = Udp
"""Background traffic of any kind."""
