"""TCP connections as a user writes them. Flows have these keys, and so has other traffic over TCP."""

from __future__ import annotations

from dumbbell.scenario.generated import workloads
from dumbbell.scenario.units import ETHERNET_MTU, Duration

_IP_AND_TCP = 40
"""Headers of a packet without options, bytes."""
TIMESTAMPS = 12
"""Bytes that timestamps take from every segment."""


def mss_option(segment_bytes: int, timestamps: bool) -> int:
    """The MSS option of a SYN for segments with this payload, bytes."""
    return segment_bytes + (TIMESTAMPS if timestamps else 0)


def segment_bytes(mtu: int, timestamps: bool = True) -> int:
    """Payload of the largest segment of a path, bytes."""
    return mtu - _IP_AND_TCP - mss_option(0, timestamps)


class Connections(workloads.Connections):
    __doc__ = workloads.Connections.__doc__

    def segment_bytes(self, mtu: int = ETHERNET_MTU) -> int:
        """Payload of a full segment on a path, bytes."""
        most = segment_bytes(mtu, self.timestamps)
        return most if self.mss is None else min(self.mss - mss_option(0, self.timestamps), most)

    @property
    def rtts(self) -> tuple[Duration, ...]:
        """Base RTTs of their own: one of them all, or one for each of several classes; none: the path's."""
        return () if self.rtt is None else (self.rtt,)

    @property
    def has_own_rtts(self) -> bool:
        """True if each connection has an RTT of its own instead."""
        return False
