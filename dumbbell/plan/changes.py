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


@dataclass(frozen=True, slots=True)
class Drop:
    """Some of the packets that leave a queue are lost."""

    port: int
    at_ns: int
    packets: int
    every: int

    def plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"kind": "drop", "port": self.port, "at_ns": self.at_ns, "packets": self.packets, "every": self.every}


@dataclass(frozen=True, slots=True)
class Hold:
    """Packets that leave a queue are set aside, and go on together later."""

    port: int
    at_ns: int
    for_ns: int
    packets: int | None
    """The largest number of them, or None for all that leave in that time."""

    def plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        most = {} if self.packets is None else {"packets": self.packets}
        return {"kind": "hold", "port": self.port, "at_ns": self.at_ns, "for_ns": self.for_ns, **most}


Change = Outage | RateChange | Drop | Hold
