"""Requests and responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from dumbbell.catalogue.feature import Feature
from dumbbell.documents.problems import Location
from dumbbell.scenario.generated import traffic as generated
from dumbbell.scenario.tcp import Start
from dumbbell.scenario.traffic.base import MOST_SEGMENTS, Wrong, check_sizes, mean_segments, most_bytes, times_in
from dumbbell.scenario.units import Duration
from dumbbell.scenario.values.distributions import is_drawn, planned


class Exchange(generated.Exchange):
    __doc__ = generated.Exchange.__doc__

    feature: ClassVar[Feature] = Feature.EXCHANGES
    words: ClassVar[Mapping[str, Location]] = {"tcp.opener": ("opens",)}

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
        return MOST_SEGMENTS // max(1, mean_segments(self.request, self), mean_segments(self.response, self))

    @property
    def is_random(self) -> bool:
        """Sizes and times that are drawn are."""
        return super().is_random or any(map(is_drawn, (self.request, self.response, self.think)))

    def planned(self) -> dict[str, Any]:
        """Sizes, number of requests and time of thinking."""
        return {
            "request_bytes": planned(self.request),
            "response_bytes": planned(self.response),
            "count": self._most if self.count is None else self.count,
            "think_ns": planned(self.think),
        }

    def packets(self, span_ns: int) -> int | None:
        """Return the packets of all requests and responses, if their number or the time of thinking limits them."""
        most = [limit for limit in (self.count, times_in(span_ns, self.think)) if limit is not None]
        return self.connections * min(most) * (mean_segments(self.request, self) + mean_segments(self.response, self)) if most else None

    def wrong(self, duration: Duration) -> Wrong:
        """Also sizes of nothing, and more than sequence numbers can count."""
        yield from check_sizes(most_bytes(self), request=self.request, response=self.response)
        if self.count is not None and self.count > self._most:
            yield ("count",), f"{self.count} are more than sequence numbers can count", f"at most {self._most}"
        yield from super().wrong(duration)
