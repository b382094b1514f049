"""Background traffic in a plan, and how it is made from a scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from dumbbell.plan.model import Connection, Workload
from dumbbell.plan.provenance import Words
from dumbbell.scenario import background as written

_NS_PER_S = 10**9


@dataclass(frozen=True, slots=True)
class Udp(Workload):
    """Unresponsive datagrams at a constant rate."""

    transport = "udp"
    feature = "UDP"

    interval_ns: int
    """From one datagram to the next."""
    size_bytes: int
    """Of a frame."""
    streams: tuple[Connection, ...]

    @property
    def flows(self) -> tuple[Connection, ...]:
        """The streams."""
        return self.streams

    def most_packets(self, duration_ns: int) -> int | None:
        """One every interval."""
        return sum(((stream.stop_ns or duration_ns) - stream.start_ns) // self.interval_ns for stream in self.streams)

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "kind": "udp",
            **self.place(),
            "interval_ns": self.interval_ns,
            "size_bytes": self.size_bytes,
            "streams": [stream.plain() for stream in self.streams],
        }


def _udp(udp: written.Udp, place: Mapping[str, Any], flow: Connection) -> Udp:
    return Udp(**place, interval_ns=int(udp.size) * 8 * _NS_PER_S // int(udp.rate), size_bytes=int(udp.size), streams=(flow,))


class Kind(NamedTuple):
    """A kind of traffic."""

    make: Callable[[Any, Mapping[str, Any], Connection], Workload]
    """Makes the workload from what the scenario has, the fields that all workloads share, and the flow."""
    words: Words
    """Names of fields in scenarios where they differ, see `provenance`."""


KINDS: Mapping[str, Kind] = {"udp": Kind(_udp, {"interval_ns": ("rate",)})}
"""By `kind` in the scenario."""
