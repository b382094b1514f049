"""The TCP connections of a capture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dumbbell.errors import BadInput
from dumbbell.native import native
from dumbbell.trace.files import Source, errors_name_files, readable
from dumbbell.trace.tally import Tally

if TYPE_CHECKING:
    import polars as pl

    from dumbbell import _native

_COUNTS = (
    "packets",
    "data_packets",
    "bytes",
    "unique_bytes",
    "retransmitted_packets",
    "retransmitted_bytes",
    "out_of_order_packets",
    "sack_packets",
)
_BATCH = 1000
"""Connections that are Python objects at a time."""


@dataclass(frozen=True)
class Analysis:
    """What one capture contains."""

    found: _native.Analysis
    """The connections as the native module keeps them."""
    tally: Tally
    """What was understood of the packets, and what was not."""
    negative_rtts: int
    """ACKs whose time is before that of the segment that they acknowledge: they give no RTT, since the capture's clock was set back."""

    @cached_property
    def connections(self) -> pl.DataFrame:
        """One row per connection and direction.

        `client`, `server`: address:port; the client is the end that sent the SYN. `direction`: `forward` is from the client to the server.
        Counts of packets and of payload bytes. `first_s`, `last_s`: earliest and latest time of a packet. `throughput_mbit`: payload
        without retransmissions, over the time from the first to the last packet with payload. `rtt_min_ms`, `rtt_median_ms` (null
        without samples), `rtt_samples`: from a segment to the ACK whose number is the end of that segment; never negative.
        """
        import polars as pl

        return pl.DataFrame(list(self.rows()), infer_schema_length=None)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows of `connections` one by one: for captures of many connections."""
        for start in range(0, len(self.found), _BATCH):
            for connection in self.found.connections(start, start + _BATCH):
                ends = {"client": format_endpoint(connection["source"]), "server": format_endpoint(connection["destination"])}
                yield {**ends, "direction": "forward", **_measures(connection["forward"])}
                yield {**ends, "direction": "reverse", **_measures(connection["reverse"])}


def analyze(source: Source) -> Analysis:
    """The TCP connections of a capture file (pcap or pcapng). Raises `BadInput` if it is no capture or contains no TCP.

    The file is read front to back; memory grows with the number of connections (some 400 bytes each), with
    what is in flight, and by 16 bytes an RTT sample.
    """
    with errors_name_files(source):
        found = native().analyze(readable(source))
    counts = found.tally()
    tally = Tally.of(counts)
    if not len(found):
        name = "the capture" if isinstance(source, bytes) else source
        kinds = ", ".join(f"{count} {kind}" for kind, count in tally.remarks())
        raise BadInput(f"{name}: has no TCP among its {tally.other_packets} packets{kinds and f' ({kinds})'}; expected TCP over IP")
    return Analysis(found, tally, counts["negative_rtts"])


def format_endpoint(endpoint: tuple[str, int]) -> str:
    """`address:port`, or `[address]:port` for IPv6."""
    host, port = endpoint
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _measures(direction: _native.Direction) -> dict[str, float | int | None]:
    counts: dict[str, float | int | None] = {name: direction[name] for name in _COUNTS}  # type: ignore[literal-required]
    least_ns, median_ns = direction["rtt_min_ns"], direction["rtt_median_ns"]
    return counts | {
        "first_s": direction["first_ns"] / 1e9,
        "last_s": direction["last_ns"] / 1e9,
        "throughput_mbit": direction["throughput_bps"] / 1e6,
        "rtt_min_ms": None if least_ns is None else least_ns / 1e6,
        "rtt_median_ms": None if median_ns is None else median_ns / 1e6,
        "rtt_samples": direction["rtt_samples"],
    }
