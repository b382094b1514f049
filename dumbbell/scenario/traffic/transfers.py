"""Connections that come and go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from dumbbell.scenario.base import Kinded
from dumbbell.scenario.problems import Location
from dumbbell.scenario.tcp import Connections
from dumbbell.scenario.traffic.base import Traffic, Wrong, most_bytes, segments
from dumbbell.scenario.units import Duration, Size

_MOST_ROWS = 100_000
"""Of connections that are made while the run goes on; a row is a few hundred bytes."""


class Arrivals(Kinded):
    """When connections are made."""

    kind: Literal["regular", "poisson"]
    every: Duration
    """From one to the next; of a Poisson process on average."""


class Transfers(Traffic, Connections):
    """Sized transfers, each over a TCP connection of its own that is made when its time comes and gone when it is complete."""

    feature: ClassVar[str] = "transfers"
    words: ClassVar[Mapping[str, Location]] = {
        "arrivals.interval_ns": ("arrivals", "every"),
        "arrivals.mean_interval_ns": ("arrivals", "every"),
        "tcp.transfer_bytes": ("size",),
        "ports": (),
    }

    kind: Literal["transfers"] = "transfers"
    direction: Literal["forward", "reverse", "both"] = "forward"
    """Of the data; ACKs go the other way."""
    start: Duration = Duration(0)
    """From when on connections are made."""
    duration: Duration | None = None
    """How long they are made; those that are there then go on. By default to the end of the run."""
    size: Size
    """Payload of each."""
    arrivals: Arrivals
    count: Annotated[int, Field(ge=1)] | None = None
    """Most connections; by default as many as there is time for."""
    rows: bool = False
    """Each has a row in the table of flows; otherwise there is only that of all together, in the table of groups."""

    @property
    def starts(self) -> Duration:
        """From when on connections are made."""
        return self.start

    @property
    def transfer(self) -> Size:
        """Each is a sized transfer."""
        return self.size

    @property
    def is_random(self) -> bool:
        """A Poisson process is."""
        return self.arrivals.kind == "poisson"

    def planned(self) -> dict[str, Any]:
        """Arrivals, number, and whether each has a row."""
        interval = {"regular": "interval_ns", "poisson": "mean_interval_ns"}[self.arrivals.kind]
        arrivals = {"kind": self.arrivals.kind, interval: int(self.arrivals.every)}
        return {"arrivals": arrivals, "count": self.count, "rows": self.rows}

    def made(self, span_ns: int) -> int:
        """About how many connections come in a time of `span_ns`."""
        expected = span_ns // int(self.arrivals.every) + 1
        return expected if self.count is None else min(self.count, expected)

    def packets(self, span_ns: int) -> int:
        """Those of the transfers that are expected."""
        return self.made(span_ns) * segments(self.size, self)

    def wrong(self, duration: Duration) -> Wrong:
        """Also transfers of nothing, and arrivals in no time."""
        if not 0 < self.size <= most_bytes(self):
            yield ("size",), f"{self.size} is too much" if self.size else "0B is nothing to send", f"1B to {most_bytes(self)}"
        if self.arrivals.every == 0:
            yield ("arrivals", "every"), "0s is no time at all", "a time above 0"
        elif self.rows and (many := self.made(int(self.duration or duration - self.start))) > _MOST_ROWS:
            yield ("rows",), f"true makes a row for each of about {many} connections", f"at most {_MOST_ROWS}, or false"
        yield from super().wrong(duration)
