"""Voice calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from dumbbell.catalogue.feature import Feature
from dumbbell.documents.problems import Location
from dumbbell.scenario.traffic.datagrams import Datagrams
from dumbbell.scenario.units import Duration, Size

_FRAME = Size(14 + 20 + 8 + 12 + 160)
"""Ethernet, IP, UDP, RTP (RFC 3550), and 20 ms of G.711: 64 kbit/s."""
_PACKET = Duration.parse("20ms")
"""RFC 3551, section 4.2: the default of audio."""


class Voip(Datagrams):
    """One way of a voice call: G.711 over RTP, a packet every 20 ms, without silence suppression. `direction: both` is a conversation."""

    feature: ClassVar[Feature] = Feature.VOICE_CALLS
    words: ClassVar[Mapping[str, Location]] = {"playout_ns": ("buffer",)}

    kind: Literal["voip"] = "voip"
    buffer: Duration = Duration.parse("60ms")
    """Playout buffer: the first packet that arrives is played after this time, and the others with the same delay from their sending. A
    packet that arrives later is lost to the listener."""

    @property
    def frame(self) -> Size:
        """See `Datagrams`."""
        return _FRAME

    @property
    def gap(self) -> Duration:
        """See `Datagrams`."""
        return _PACKET

    def planned(self) -> dict[str, Any]:
        """Return the plan's values with the playout buffer."""
        return {**super().planned(), "playout_ns": int(self.buffer)}
