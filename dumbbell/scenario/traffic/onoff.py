"""A source with a rate of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from dumbbell.catalogue.feature import Feature
from dumbbell.documents.problems import Location
from dumbbell.scenario.generated import traffic as generated
from dumbbell.scenario.tcp import Start
from dumbbell.scenario.traffic.base import MOST_SEGMENTS, Wrong, most_bytes, segments
from dumbbell.scenario.units import Duration, Size
from dumbbell.scenario.values.distributions import is_drawn, mean, planned

_NS_PER_S = 10**9


class OnOff(generated.OnOff):
    __doc__ = generated.OnOff.__doc__

    feature: ClassVar[Feature] = Feature.ON_OFF_SOURCES
    words: ClassVar[Mapping[str, Location]] = {"tcp.opener": ("opens",), "interval_ns": ("rate",), "on.bytes": ("burst",), "on.ns": ("on",)}

    @property
    def starts(self) -> tuple[Start, int]:
        """Each connection."""
        return self.start, self.connections

    @property
    def opener(self) -> Literal["from", "to"]:
        """The source's end is `from`."""
        return "from" if self.opens == "sender" else "to"

    @property
    def _interval_ns(self) -> int:
        """Return the time from one write to the next; 0 if a burst is one write."""
        return 0 if self.rate is None else int(self.write) * 8 * _NS_PER_S // int(self.rate)

    @property
    def is_random(self) -> bool:
        """Times and bursts that are drawn are."""
        return super().is_random or any(is_drawn(each) for each in (self.on, self.burst, self.off) if each is not None)

    def planned(self) -> dict[str, Any]:
        """Writes and periods."""
        on = None
        if self.on is not None:
            on = {"kind": "time", "ns": planned(self.on)}
        elif self.burst is not None:
            on = {"kind": "bytes", "bytes": planned(self.burst)}
        return {"write_bytes": int(self.write), "interval_ns": self._interval_ns, "on": on, "off_ns": planned(self.off)}

    def _writes(self, span_ns: int) -> tuple[int, Size]:
        """Return about how many writes there are in a time of `span_ns`, and the size of each."""
        on, off = (0 if each is None else int(mean(each)) for each in (self.on, self.off))
        burst = Size(0 if self.burst is None else math.ceil(mean(self.burst)))
        if self.rate is None:
            return span_ns // max(1, off) + 1, burst
        interval = max(1, self._interval_ns)
        if not on and not burst:
            return span_ns // interval + 1, self.write
        each = -(-on // interval) or -(-burst // int(self.write))
        return (span_ns // max(1, (on or each * interval) + off) + 1) * each, self.write

    def packets(self, span_ns: int) -> int:
        """Return the packets of the writes."""
        writes, size = self._writes(span_ns)
        return self.connections * writes * segments(size, self)

    def wrong(self, duration: Duration) -> Wrong:
        """Also yield amounts that are nothing, have no end, or are given twice."""
        for key, nothing in (("burst", "0B"), ("on", "0s")):
            if getattr(self, key) == 0:
                yield (key,), f"{nothing} is nothing", "more"
        if self.on is not None and self.burst is not None:
            yield ("burst",), "says again what `on` says", "one of them"
        if self.off and self.on is None and self.burst is None:
            yield ("off",), "is a pause after nothing", "on or burst as well"
        if self.rate is None and (self.burst is None or not self.off):
            yield ("rate",), "the rate is not said", "a rate, or burst and off"
        elif self.rate is not None and 0 < int(self.write) * 8 * 10**6 < self.rate:
            yield ("rate",), f"{self.rate} are several writes of {self.write} a microsecond", "larger writes"
        elif self.write and self._writes(int(duration))[0] * segments(self._writes(int(duration))[1], self) > MOST_SEGMENTS:
            yield ("rate",), f"comes to more than {most_bytes(self)} in {duration}", "less"
        yield from super().wrong(duration)
