"""Requests and responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from dumbbell.catalogue.feature import Feature
from dumbbell.documents.problems import Location
from dumbbell.scenario.distributions import Drawn, is_drawn, planned
from dumbbell.scenario.tcp import Connections, Start
from dumbbell.scenario.traffic.base import MOST_SEGMENTS, Traffic, Wrong, check_sizes, mean_segments, most_bytes, times_in
from dumbbell.scenario.units import Duration, Size


class Exchange(Traffic, Connections):
    """Requests and responses over TCP connections that stay open: the client asks, the server answers once it has read the whole request,
    and the client asks again after a time of thinking."""

    feature: ClassVar[Feature] = Feature.EXCHANGES
    words: ClassVar[Mapping[str, Location]] = {"tcp.opener": ("opens",)}

    kind: Literal["exchange"] = "exchange"
    direction: Literal["forward", "reverse", "both"] = "forward"
    """Direction of the requests; responses go the other way. `src` is the client's host, `dst` the server's."""
    connections: Annotated[int, Field(ge=1, le=100_000)] = 1
    """Number of connections. Each is a client of its own."""
    start: Start = Start()
    """Time at which they are opened."""
    opens: Literal["client", "server"] = "client"
    """The end that calls connect(). In either case the client asks first."""
    request: Drawn[Size]
    response: Drawn[Size]
    count: Annotated[int, Field(ge=1)] | None = None
    """Requests over each connection; by default as many as there is time for."""
    think: Drawn[Duration] = Duration(0)
    """Time from the last byte of a response to the next request."""

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
