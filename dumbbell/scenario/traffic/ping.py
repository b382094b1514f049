"""Pings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from dumbbell.catalogue.feature import Feature
from dumbbell.documents.problems import Location
from dumbbell.scenario.generated import traffic as generated
from dumbbell.scenario.units import Duration, Size
from dumbbell.scenario.values.distributions import Drawn


class Ping(generated.Ping):
    __doc__ = generated.Ping.__doc__

    protocol: ClassVar[Literal["tcp", "udp", "icmp"]] = "icmp"
    feature: ClassVar[Feature] = Feature.PINGS
    words: ClassVar[Mapping[str, Location]] = {}

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
