"""Count of the packets of a capture that were understood, and of those that were not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell._native import PairTally

_LEFT_OUT = {
    "other_protocol": "another protocol over IP",
    "not_ip": "not IP",
    "fragment": "fragment of an IP packet",
    "link_type": "unknown link type",
    "ip_header_cut": "IP header cut",
    "ip_header_invalid": "IP header invalid",
    "tcp_header_cut": "TCP header cut",
    "tcp_header_invalid": "TCP header invalid",
    "no_time": "without a time",
}
_ANALYSED = {
    "options_cut": "TCP options cut: analysed without them",
    "options_invalid": "TCP options invalid: analysed without them",
    "earlier_than_previous": "captured before the packet in front of it",
}
_NEGATIVE_RTTS = "ACK captured before its segment: no RTT"


@dataclass(frozen=True)
class Tally:
    """The packets of a capture by how far they were understood."""

    tcp_packets: int
    """TCP packets: those that were analysed."""
    other_packets: int
    """Packets that were not."""
    left_out: Mapping[str, int]
    """The same by reason, every reason included: `other_protocol`, `not_ip`, `fragment`, `link_type` (unknown), `ip_header_cut`,
    `ip_header_invalid`, `tcp_header_cut` (within its first 20 bytes), `tcp_header_invalid`, `no_time`."""
    options_cut: int
    """TCP packets whose options were not captured as a whole; the rest of them is analysed."""
    options_invalid: int
    """TCP packets whose options are no valid list; the rest of them is analysed."""
    earlier_than_previous: int
    """TCP packets whose time is before that of the TCP packet in front of them: the clock was set back, or several queues were captured."""
    cut_short: int | None
    """The file ends in the middle of a packet, after this many bytes (unpacked). The packets before it are counted."""
    damage: str | None
    """Damage of the file, and its place; the packets before it are counted."""

    @classmethod
    def of(cls, found: PairTally) -> Tally:
        """The tally that the native module gives."""
        return cls(**{name: found[name] for name in cls.__dataclass_fields__})  # type: ignore[literal-required]

    def document(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    def remarks(self, negative_rtts: int = 0) -> list[tuple[str, int]]:
        """Return the packets that were not understood: each kind and its number, without kinds that do not occur."""
        found = [(text, self.left_out[name]) for name, text in _LEFT_OUT.items()]
        found += [(text, getattr(self, name)) for name, text in _ANALYSED.items()]
        return [each for each in (*found, (_NEGATIVE_RTTS, negative_rtts)) if each[1]]
