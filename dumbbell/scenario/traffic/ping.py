"""Pings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dumbbell.catalogue.feature import Feature
from dumbbell.documents.problems import Location
from dumbbell.scenario.distributions import Drawn
from dumbbell.scenario.traffic.datagrams import Datagrams
from dumbbell.scenario.units import Duration, Size


class Ping(Datagrams):
    """ICMP echo requests, which the other host answers at once."""

    protocol: ClassVar[Literal["tcp", "udp", "icmp"]] = "icmp"
    feature: ClassVar[Feature] = Feature.PINGS
    words: ClassVar[Mapping[str, Location]] = {}

    kind: Literal["ping"] = "ping"
    interval: Drawn[Duration] = Duration.parse("200ms")
    """Time from one request to the next."""
    size: Drawn[Size] = Size.parse("98B")
    """Frame size: 14 bytes Ethernet, 28 IP and ICMP, the rest payload. ping(8) has a payload of 56 bytes."""
    count: Annotated[int, Field(ge=1)] | None = None
    """Requests; by default as many as there is time for."""

    @property
    def frame(self) -> Drawn[Size]:
        """See `Datagrams`."""
        return self.size

    @property
    def gap(self) -> Drawn[Duration]:
        """See `Datagrams`."""
        return self.interval

    @property
    def most(self) -> int | None:
        """See `Datagrams`."""
        return self.count

    @property
    def replies(self) -> bool:
        """Always."""
        return True
