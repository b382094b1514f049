"""Pages of many objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from dumbbell.catalogue.feature import Feature
from dumbbell.documents.problems import Location
from dumbbell.scenario.distributions import Drawn, is_drawn, planned
from dumbbell.scenario.tcp import Connections, Start
from dumbbell.scenario.traffic.base import MOST_RESPONSE, Traffic, Wrong, check_sizes, mean_segments, times_in
from dumbbell.scenario.units import Duration, Size


class Page(Traffic, Connections):
    """Pages that a browser loads: many objects over several connections, each of which carries one request at a time (HTTP/1.1 with
    persistent connections)."""

    feature: ClassVar[Feature] = Feature.PAGES
    words: ClassVar[Mapping[str, Location]] = {"tcp.opener": ("opens",), "connections_each": ("connections",), "count": ("pages",)}

    kind: Literal["page"] = "page"
    direction: Literal["forward", "reverse", "both"] = "forward"
    """Direction of the requests; objects go the other way. `src` is the browser's host, `dst` the server's."""
    clients: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Browsers, each with connections of its own."""
    start: Start = Start()
    """Time at which a browser opens its connections and begins with its first page."""
    opens: Literal["client", "server"] = "client"
    """The end that calls connect()."""
    connections: Annotated[int, Field(ge=1, le=100)] = 6
    """Connections of a browser. It opens all at the start and keeps them open."""
    objects: Annotated[int, Field(ge=1, le=1_000_000)] = 50
    """Objects of a page, without the first."""
    size: Drawn[Size]
    """Size of each object."""
    first: Drawn[Size] | None = None
    """Size of an object that must arrive before the browser asks for the others; by default there is none."""
    request: Drawn[Size] = Size.parse("300B")
    """Size of the request for each object."""
    think: Drawn[Duration] = Duration(0)
    """Time from the last byte of a page to the request for the next."""
    pages: Annotated[int, Field(ge=1)] | None = None
    """Pages of each browser; by default as many as there is time for."""

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

    def wrong(self, duration: Duration) -> Wrong:
        """Also sizes of nothing."""
        yield from check_sizes(MOST_RESPONSE, size=self.size, first=self.first, request=self.request)
        yield from super().wrong(duration)
