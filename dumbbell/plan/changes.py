"""Changes of ports during a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Outage:
    """All packets that leave a queue are lost for a while."""

    port: int
    at_ns: int
    for_ns: int

    def plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"kind": "outage", "port": self.port, "at_ns": self.at_ns, "for_ns": self.for_ns}


@dataclass(frozen=True, slots=True)
class RateChange:
    """The rate of a queue's shaper changes."""

    port: int
    at_ns: int
    rate_bps: int

    def plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"kind": "rate", "port": self.port, "at_ns": self.at_ns, "rate_bps": self.rate_bps}


Change = Outage | RateChange
