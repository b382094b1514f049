"""Base of all traffic but bulk flows: the keys that users write, the values in the plan, the feature that an engine must name."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from dumbbell.catalogue import entries
from dumbbell.catalogue.feature import Feature
from dumbbell.documents.problems import Location
from dumbbell.scenario.bounds import Wrong as Wrong
from dumbbell.scenario.bounds import beyond
from dumbbell.scenario.connections import Connections
from dumbbell.scenario.generated import workloads
from dumbbell.scenario.tcp import Start
from dumbbell.scenario.units import Duration, Size
from dumbbell.scenario.values.distributions import Distribution, mean

MOST_SEGMENTS = (1 << 32) - 3
"""Maximum number of segments in a direction of a connection: sequence numbers count them in 32 bits."""


class Traffic(workloads.Traffic):
    """Base class of all kinds."""

    protocol: ClassVar[Literal["tcp", "udp", "icmp"]] = "tcp"
    """Protocol that carries it."""
    feature: ClassVar[Feature]
    """Name in an engine's table."""
    words: ClassVar[Mapping[str, Location]] = {}
    """Names of fields of the plan where they differ from the keys by more than the unit, see `plan.provenance`."""

    @property
    @abstractmethod
    def starts(self) -> tuple[Start, int] | Duration:
        """Return the start of the connections or streams that exist from the start of the run, and their number; or the time from which
        connections are made."""

    @abstractmethod
    def planned(self) -> dict[str, Any]:
        """Return the plan's values, in ns, bit/s, bytes and packets, without ends, times and what TCP connections share."""

    def planned_at(self, shaped_bps: int | None) -> dict[str, Any]:  # noqa: ARG002
        """Return the plan's values, some of which depend on the rate of the first shaped queue that the data pass, bit/s; None if there is
        none."""
        return self.planned()

    @abstractmethod
    def packets(self, span_ns: int) -> int | None:
        """Data packets in a time of `span_ns`, retransmissions left out; None if only the network limits it."""

    @property
    def connections_each(self) -> int:
        """Connections that start together and belong to one application."""
        return 1

    @property
    def opener(self) -> Literal["from", "to"]:
        """Return the end of a connection that calls connect()."""
        return "from"

    @property
    def is_random(self) -> bool:
        """True if runs with different seeds differ."""
        return isinstance(self.starts, tuple) and bool(self.starts[0].jitter)

    def wrong_with(self, shaped_bps: Mapping[str, int | None], duration: Duration) -> Wrong:  # noqa: ARG002
        """Yield the errors with these rates of the first shaped queue of each direction, see `planned_at`."""
        yield from ()

    def wrong(self, duration: Duration) -> Wrong:
        """Yield the errors in a run of this duration."""
        for parameter in entries("traffic")[self.kind].parameters:
            yield from beyond((parameter.name,), parameter, getattr(self, parameter.name))
        if isinstance(self.starts, tuple):
            start, count = self.starts
            last = start.first + (count - 1) * start.every + start.jitter
        else:
            last = self.starts
        if duration and last >= duration:
            yield ("start",), f"{Duration(last)} is not within the run's {duration}", "an earlier time"
        if self.duration == 0:
            yield ("duration",), "0s is no time at all", "a time above 0"


def kind(value: Any) -> Any:
    """Return the kind that an entry says; datagrams need not say it."""
    return value.get("kind", "udp") if isinstance(value, dict) else getattr(value, "kind", "udp")


def segments(size: Size, over: Connections) -> int:
    """Return the number of segments in a payload, on a path with the usual MTU."""
    return -(-int(size) // over.segment_bytes())


def most_bytes(over: Connections) -> Size:
    """Return the bytes that sequence numbers can count in a direction of a connection, on a path with the usual MTU."""
    return Size(MOST_SEGMENTS * over.segment_bytes())


def mean_segments(size: Size | Distribution, over: Connections) -> int:
    """Return the mean number of segments in a payload that may be drawn."""
    return segments(Size(math.ceil(mean(size))), over)


def times_in(span_ns: int, time: Duration | Distribution) -> int | None:
    """Return about how often something that takes this time is due in `span_ns`; None if it takes no time."""
    each_ns = int(mean(time))
    return span_ns // each_ns + 1 if each_ns else None


def check_sizes(most: Size, **sizes: Size | Distribution | None) -> Wrong:
    """Yield the errors in plain sizes that are nothing or too much, by their keys; None is no size. Drawn sizes are at least a byte and at
    most 1 TiB."""
    for key, size in sizes.items():
        if isinstance(size, Size) and not 0 < size <= most:
            yield (key,), f"{size} is too much" if size else "0B is nothing", f"1B to {most}"
