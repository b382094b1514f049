"""Requests and responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from dumbbell.scenario.problems import Location
from dumbbell.scenario.tcp import Connections, Start
from dumbbell.scenario.traffic.base import MOST_SEGMENTS, Traffic, Wrong, most_bytes, segments
from dumbbell.scenario.units import Duration, Size


class Exchange(Traffic, Connections):
    """Requests and responses over TCP connections that stay open: the client asks, the server answers once it has read the whole request,
    and the client asks again after a time of thinking."""

    feature: ClassVar[str] = "exchanges"
    words: ClassVar[Mapping[str, Location]] = {"tcp.opener": ("opens",)}

    kind: Literal["exchange"] = "exchange"
    direction: Literal["forward", "reverse", "both"] = "forward"
    """Of the requests; responses go the other way. `src` is the client's host, `dst` the server's."""
    connections: Annotated[int, Field(ge=1, le=100_000)] = 1
    """Each is a client of its own."""
    start: Start = Start()
    """When they are opened."""
    opens: Literal["client", "server"] = "client"
    """Who calls connect(). Whoever does, the client asks first."""
    request: Size
    response: Size
    count: Annotated[int, Field(ge=1)] | None = None
    """Requests over each connection; by default as many as there is time for."""
    think: Duration = Duration(0)
    """From the last byte of a response to the next request."""

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
        return MOST_SEGMENTS // max(1, segments(max(self.request, self.response), self))

    def planned(self) -> dict[str, Any]:
        """Sizes, number of requests and time of thinking."""
        return {
            "request_bytes": int(self.request),
            "response_bytes": int(self.response),
            "count": self._most if self.count is None else self.count,
            "think_ns": int(self.think),
        }

    def packets(self, span_ns: int) -> int | None:
        """Those of all requests and responses, if their number or the time of thinking limits them."""
        most = [limit for limit in (self.count, span_ns // self.think + 1 if self.think else None) if limit is not None]
        return self.connections * min(most) * (segments(self.request, self) + segments(self.response, self)) if most else None

    def wrong(self, duration: Duration) -> Wrong:
        """Also sizes of nothing, and more than sequence numbers can count."""
        for key in ("request", "response"):
            if not 0 < getattr(self, key) <= most_bytes(self):
                what = f"{getattr(self, key)} is too much" if getattr(self, key) else "0B is nothing"
                yield (key,), what, f"1B to {most_bytes(self)}"
        if self.count is not None and self.count > self._most:
            yield ("count",), f"{self.count} are more than sequence numbers can count", f"at most {self._most}"
        yield from super().wrong(duration)
