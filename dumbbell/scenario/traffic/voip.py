"""Voice calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dumbbell.catalogue.feature import Feature
from dumbbell.documents.problems import Location
from dumbbell.scenario.generated import traffic as generated
from dumbbell.scenario.units import Duration, Size

_FRAME = Size(14 + 20 + 8 + 12 + 160)
"""Ethernet, IP, UDP, RTP (RFC 3550), and 20 ms of G.711: 64 kbit/s."""
_PACKET = Duration.parse("20ms")
"""RFC 3551, section 4.2: the default of audio."""


class Voip(generated.Voip):
    __doc__ = generated.Voip.__doc__

    feature: ClassVar[Feature] = Feature.VOICE_CALLS
    words: ClassVar[Mapping[str, Location]] = {"playout_ns": ("buffer",)}

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
