"""Datagrams over UDP: load that nothing stops, and measurements by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dumbbell.catalogue.feature import Feature
from dumbbell.documents.problems import Location
from dumbbell.scenario.generated import traffic as generated
from dumbbell.scenario.traffic.base import Wrong
from dumbbell.scenario.traffic.datagrams import NS_PER_S
from dumbbell.scenario.units import Duration, Rate, Size
from dumbbell.scenario.values.distributions import Drawn, is_drawn, mean, planned


class Udp(generated.Udp):
    __doc__ = generated.Udp.__doc__

    feature: ClassVar[Feature] = Feature.UDP
    words: ClassVar[Mapping[str, Location]] = {
        "interval_ns": ("rate",),
        "measured": ("measure",),
        "bursts.on_ns": ("on",),
        "bursts.off_ns": ("off",),
    }

    @property
    def frame(self) -> Drawn[Size]:
        """See `Datagrams`."""
        return self.size

    @property
    def gap(self) -> Drawn[Duration]:
        """See `Datagrams`."""
        if self.interval is not None:
            return self.interval
        return Duration(int(mean(self.size) * 8 * NS_PER_S) // int(self.rate)) if self.rate else Duration(0)

    @property
    def most(self) -> int | None:
        """See `Datagrams`."""
        return self.count

    @property
    def replies(self) -> bool:
        """See `Datagrams`."""
        return self.reply

    @property
    def measures(self) -> bool:
        """See `Datagrams`."""
        return self.reply if self.measure is None else self.measure

    def planned(self) -> dict[str, Any]:
        """Return the plan's values with those of bursts."""
        bursts = None if self.on is None or self.off is None else {"on_ns": planned(self.on), "off_ns": planned(self.off)}
        return {**super().planned(), "bursts": bursts}

    @property
    def is_random(self) -> bool:
        """So may bursts be."""
        return super().is_random or any(each is not None and is_drawn(each) for each in (self.on, self.off))

    def packets(self, span_ns: int) -> int:
        """Return the packets of the times of sending."""
        if self.on is None or self.off is None:
            return super().packets(span_ns)
        cycle = max(1, int(mean(self.on) + mean(self.off)))
        return super().packets(-(-span_ns // cycle) * int(mean(self.on)))

    def wrong(self, duration: Duration) -> Wrong:
        """Also no rate or two, several datagrams a microsecond, half a burst, and replies that nobody looks at."""
        if (self.rate is None) == (self.interval is None):
            yield ("rate",), "is missing" if self.rate is None else "cannot be combined with interval", "either rate or interval"
        most = Rate(int(mean(self.size) * 8 * 10**6))
        if self.rate is not None and most < self.rate:
            yield ("rate",), f"{self.rate} are several datagrams of {int(mean(self.size))} bytes a microsecond", f"at most {most}"
        for key, other in (("on", "off"), ("off", "on")):
            if getattr(self, key) is None and getattr(self, other) is not None:
                yield (key,), f"is missing, and {other} needs it", "both or none"
        if self.on is not None and mean(self.on) == 0:
            yield ("on",), "0s is no time at all", "a time above 0"
        if self.reply and self.measure is False:
            yield ("measure",), "false with replies, which only measure", "no measure, or no reply"
        yield from super().wrong(duration)
