"""Pages of many objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from dumbbell.catalogue.feature import Feature
from dumbbell.documents.problems import Location
from dumbbell.scenario.generated import traffic as generated
from dumbbell.scenario.tcp import Start
from dumbbell.scenario.traffic.base import mean_segments, times_in
from dumbbell.scenario.values.distributions import is_drawn, planned


class Page(generated.Page):
    __doc__ = generated.Page.__doc__

    feature: ClassVar[Feature] = Feature.PAGES
    words: ClassVar[Mapping[str, Location]] = {"tcp.opener": ("opens",), "connections_each": ("connections",), "count": ("pages",)}

    @property
    def starts(self) -> tuple[Start, int]:
        """Each browser."""
        return self.start, self.clients

    @property
    def connections_each(self) -> int:
        """The connections of a browser start together."""
        return self.connections

    @property
    def opener(self) -> Literal["from", "to"]:
        """The browser's end is `from`."""
        return "from" if self.opens == "client" else "to"

    @property
    def is_random(self) -> bool:
        """Sizes and times that are drawn are."""
        amounts = (self.size, self.request, self.think, *(() if self.first is None else (self.first,)))
        return super().is_random or any(map(is_drawn, amounts))

    def planned(self) -> dict[str, Any]:
        """Sizes, numbers and time of thinking."""
        return {
            "connections_each": self.connections,
            "request_bytes": planned(self.request),
            "first_bytes": None if self.first is None else planned(self.first),
            "objects": self.objects,
            "size_bytes": planned(self.size),
            "count": self.pages,
            "think_ns": planned(self.think),
        }

    def packets(self, span_ns: int) -> int | None:
        """Return the packets of all pages, if their number or the time of thinking limits them."""
        most = [limit for limit in (self.pages, times_in(span_ns, self.think)) if limit is not None]
        if not most:
            return None
        request = mean_segments(self.request, self)
        first = 0 if self.first is None else request + mean_segments(self.first, self)
        return self.clients * min(most) * (first + self.objects * (request + mean_segments(self.size, self)))
