"""Connections that come and go."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from dumbbell.catalogue.feature import Feature
from dumbbell.documents.problems import Location
from dumbbell.scenario.generated import traffic as generated
from dumbbell.scenario.traffic.base import Wrong, most_bytes, segments
from dumbbell.scenario.units import Duration, Size
from dumbbell.scenario.values.distributions import bounds, is_drawn, mean, planned, quantile

MOST_CLASSES = 64
"""Maximum number of classes of RTTs of an entry's connections."""
_MOST_ROWS = 100_000
"""Maximum number of rows of connections that are made during the run; a row is a few hundred bytes."""
_NS_PER_S = 10**9
_US = 10**3


class Transfers(generated.Transfers):
    __doc__ = generated.Transfers.__doc__

    feature: ClassVar[Feature] = Feature.TRANSFERS
    words: ClassVar[Mapping[str, Location]] = {
        "arrivals.interval_ns": ("arrivals", "every"),
        "arrivals.mean_interval_ns": ("arrivals", "every"),
        "arrivals.at_ns": ("arrivals",),
        "ports": (),
    }

    @property
    def starts(self) -> Duration:
        """Time from which connections are made."""
        return self.start

    @property
    def is_random(self) -> bool:
        """True for a Poisson process, and for drawn sizes or RTTs."""
        return (
            self.arrivals.kind == "poisson"
            or (self.size is not None and is_drawn(self.size))
            or (self.rtt is not None and is_drawn(self.rtt))
        )

    @cached_property
    def rtts(self) -> tuple[Duration, ...]:
        """Return the RTTs of the classes. A trace with RTTs keeps its own if there are no more of them than classes."""
        if self.has_own_rtts:
            return ()
        if listed := self._listed_rtts:
            values = sorted(set(listed))
            return tuple(values) if len(values) <= MOST_CLASSES else _middles(lambda share: sorted(listed)[int(share * len(listed))])
        if self.rtt is None:
            return ()
        return _middles(lambda share: quantile(self.rtt, share)) if is_drawn(self.rtt) else (Duration(int(quantile(self.rtt, 0.5))),)

    @property
    def has_own_rtts(self) -> bool:
        """True if connections have the RTTs that are drawn, not those of classes."""
        return self.exact_rtts

    @property
    def _listed_rtts(self) -> list[Duration]:
        return [row[2] for row in self.arrivals.rows or () if row[2] is not None]

    def interval_ns(self, shaped_bps: int | None) -> int:
        """Return the mean time from one connection to the next; `shaped_bps` is the rate of the queue that a load is a share of."""
        if self.arrivals.load is None or self.size is None:
            return int(self.arrivals.every or 0)
        return max(1, round(mean(self.size) * 8 * _NS_PER_S / round(self.arrivals.load * (shaped_bps or 1))))

    def planned(self) -> dict[str, Any]:
        """Sizes, RTTs of their own, number, and whether each has a row."""
        size = 1 if self.size is None else planned(self.size)
        own = {"rtt_ns": planned(self.rtt)} if self.has_own_rtts and self.rtt is not None else {}
        return {"size_bytes": size, **own, "count": self.count, "rows": self.rows}

    def planned_at(self, shaped_bps: int | None) -> dict[str, Any]:
        """Also arrivals."""
        return {**self.planned(), "arrivals": self._arrivals(shaped_bps)}

    def _arrivals(self, shaped_bps: int | None) -> dict[str, Any]:
        if self.arrivals.kind == "regular":
            return {"kind": "regular", "interval_ns": self.interval_ns(shaped_bps)}
        if self.arrivals.kind == "poisson":
            return {"kind": "poisson", "mean_interval_ns": self.interval_ns(shaped_bps)}
        sizes, classes, listed = None, None, self._listed_rtts
        if self.arrivals.rows is not None:
            sizes = [int(row[1]) for row in self.arrivals.rows]
        if len(self.rtts) > 1 and listed:
            nearest = {rtt: min(range(len(self.rtts)), key=lambda i: abs(self.rtts[i] - rtt)) for rtt in set(listed)}
            classes = [nearest[rtt] for rtt in listed]
        return {"kind": "listed", "at_ns": [int(at) for at in self.arrivals.times or ()], "sizes_bytes": sizes, "classes": classes}

    def made(self, span_ns: int, shaped_bps: int | None = None) -> int:
        """About how many connections come in a time of `span_ns`."""
        times = self.arrivals.times
        expected = span_ns // max(1, self.interval_ns(shaped_bps)) + 1 if times is None else sum(int(at) < span_ns for at in times)
        return expected if self.count is None else min(self.count, expected)

    def packets(self, span_ns: int) -> int | None:
        """Return the packets of the expected transfers; None with a load, because then only the network limits them."""
        if self.arrivals.rows is not None:
            return sum(segments(row[1], self) for row in self.arrivals.rows)
        if self.arrivals.load is not None or self.size is None:
            return None
        return self.made(span_ns) * segments(Size(int(mean(self.size)) + is_drawn(self.size)), self)

    def wrong(self, duration: Duration) -> Wrong:
        """Also transfers of nothing, and arrivals in no time."""
        trace = self.arrivals.rows is not None
        if trace == (self.size is not None):
            yield ("size",), "cannot be combined with the sizes of the trace" if trace else "is missing", "none" if trace else Size.EXPECTED
        for size in [row[1] for row in self.arrivals.rows or ()] if self.size is None else self._largest():
            if not 0 < size <= most_bytes(self):
                yield ("size",), f"{size} is too much" if size else "0B is nothing to send", f"1B to {most_bytes(self)}"
                break
        times = self.arrivals.times
        if times is not None and sorted(times) != times:
            yield ("arrivals",), "has times that go back", "times in order"
        if self.arrivals.every == 0:
            yield ("arrivals", "every"), "0s is no time at all", "a time above 0"
        if self.rtt is not None and self._listed_rtts:
            yield ("rtt",), "cannot be combined with the RTTs of the trace", "the one or the other"
        if self.exact_rtts and (self.rtt is None or not is_drawn(self.rtt)):
            yield ("exact_rtts",), "true draws no RTT", "rtt with a distribution"
        if self.rtts and min(self.rtts) <= 0:
            yield ("rtt",), "0s is no time at all", "times above 0"
        yield from super().wrong(duration)

    def _largest(self) -> list[Size]:
        """The largest size that can be drawn, if there is one."""
        most = None if self.size is None else bounds(self.size)[1]
        return [] if most is None else [Size(most)]

    def wrong_with(self, shaped_bps: Mapping[str, int | None], duration: Duration) -> Wrong:
        """Also a load of no queue, and more connections than may have rows."""
        for direction in ("forward", "reverse") if self.direction == "both" else (self.direction,):
            rate_bps = shaped_bps[direction]
            if rate_bps is None and self.arrivals.load is not None:
                yield ("arrivals", "load"), f"there is no shaped queue on the {direction} path", "every, or a queue there"
            elif self.rows and (many := self.made(int(self.duration or duration - self.start), rate_bps)) > _MOST_ROWS:
                yield ("rows",), f"true makes a row for each of about {many} connections", f"at most {_MOST_ROWS}, or false"
                return


def _middles(value: Any) -> tuple[Duration, ...]:
    """The quantiles in the middle of each 64th, to the microsecond."""
    shares = ((i + 0.5) / MOST_CLASSES for i in range(MOST_CLASSES))
    return tuple(Duration(max(1, round(value(share) / _US)) * _US) for share in shares)
