"""Base of all streams of datagrams."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

from dumbbell.scenario.generated import workloads
from dumbbell.scenario.tcp import Start
from dumbbell.scenario.traffic.base import Traffic, Wrong
from dumbbell.scenario.units import FRAME_BYTES, Duration, Size
from dumbbell.scenario.values.distributions import Drawn, bounds, is_drawn, mean, planned

NS_PER_S = 10**9
_LEAST_INTERVAL_NS = 1000
_LEAST_FRAME = Size.parse("64B")
_MOST_MEASURED = 20_000_000
"""Datagrams of a stream whose times are kept: they are in memory until the run ends."""


class Datagrams(workloads.Datagrams, Traffic):
    """Base class of these."""

    protocol: ClassVar[Literal["tcp", "udp", "icmp"]] = "udp"

    @property
    @abstractmethod
    def frame(self) -> Drawn[Size]:
        """Return the frame size of each datagram."""

    @property
    @abstractmethod
    def gap(self) -> Drawn[Duration]:
        """Return the time from one to the next."""

    @property
    def most(self) -> int | None:
        """Datagrams, if there is a limit."""
        return None

    @property
    def replies(self) -> bool:
        """True if the other end sends them back."""
        return False

    @property
    def measures(self) -> bool:
        """True if delays, jitter and losses are results."""
        return True

    @property
    def starts(self) -> tuple[Start, int]:
        """One stream."""
        return Start(first=self.start), 1

    def planned(self) -> dict[str, Any]:
        """Everything about the datagrams."""
        return {
            "interval_ns": planned(self.gap),
            "size_bytes": planned(self.frame),
            "bursts": None,
            "count": self.most,
            "reply": self.replies,
            "measured": self.measures,
            "playout_ns": None,
            **({"dscp": self.dscp} if self.dscp else {}),
            **({} if self.ect is None else {"ect": self.ect}),
        }

    @property
    def is_random(self) -> bool:
        """Intervals and sizes may be drawn."""
        return is_drawn(self.gap) or is_drawn(self.frame)

    def packets(self, span_ns: int) -> int:
        """Return the number of packets: one every interval, and as many replies if there are any."""
        sent = span_ns // max(1, int(mean(self.gap))) + 1
        return (sent if self.most is None else min(sent, self.most)) * (2 if self.replies else 1)

    def wrong(self, duration: Duration) -> Wrong:
        """Also frames that Ethernet does not have, several datagrams a microsecond, and more times than are kept."""
        least, most = bounds(self.frame)
        if least < _LEAST_FRAME or most is None or most > FRAME_BYTES:
            what = f"{self.frame} is no Ethernet frame" if isinstance(self.frame, Size) else "draws what are no Ethernet frames"
            yield ("size",), what, f"{_LEAST_FRAME} to {FRAME_BYTES}B"
        if mean(self.gap) < _LEAST_INTERVAL_NS:
            yield ("interval",), "lets several datagrams go in a microsecond", "at least 1us, on average"
        lasts = int(duration - self.start if self.duration is None else self.duration)
        if self.measures and (many := self.packets(lasts)) > _MOST_MEASURED:
            yield (), f"measures with about {many} datagrams", f"at most {_MOST_MEASURED}"
        yield from super().wrong(duration)
