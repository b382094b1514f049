"""The TCP connections of a capture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dumbbell.errors import BadInput
from dumbbell.native import native
from dumbbell.trace.files import Source, errors_name_files, readable
from dumbbell.trace.reasons import reasons
from dumbbell.trace.tally import Tally

if TYPE_CHECKING:
    import polars as pl

    from dumbbell import _native

_BATCH = 1000
"""Connections that are Python objects at a time."""


@dataclass(frozen=True)
class Analysis:
    """Content of one capture."""

    found: _native.Analysis
    """The connections as the native module keeps them."""
    tally: Tally
    """Packets that were understood, and packets that were not."""
    negative_rtts: int
    """ACKs whose time is before that of the segment that they acknowledge: they give no RTT, since the capture's clock was set back."""

    @cached_property
    def connections(self) -> pl.DataFrame:
        """One row per connection and direction.

        `client`, `server`: address:port; the client is the end that sent the SYN. `direction`: `forward` is from the client to the server.
        `closed`: both ends sent a FIN, or one a reset. Then each of `dumbbell.trace.FACTS`, and what `dumbbell.trace.reasons` says: shares
        of time, `held_by`, `evidence`. Measures without samples are null.
        """
        import polars as pl

        return pl.DataFrame(list(self.rows()), infer_schema_length=None)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows of `connections` one by one: for captures of many connections."""
        for start in range(0, len(self.found), _BATCH):
            for connection in self.found.connections(start, start + _BATCH):
                ends = {"client": format_endpoint(connection["source"]), "server": format_endpoint(connection["destination"])}
                forward, reverse = connection["forward"], connection["reverse"]
                for name, own, other in (("forward", forward, reverse), ("reverse", reverse, forward)):
                    yield {**ends, "direction": name, "closed": connection["closed"], **own, **reasons(own, other)}


def analyze(source: Source, sink: Callable[[Mapping[str, bytes]], None] | None = None) -> Analysis:
    """Return the TCP connections of a capture file (pcap or pcapng, plain or packed by gzip or zstd). Raises `BadInput` if it is no capture
    or contains no TCP.

    The file is read front to back, up to where it is damaged; memory grows with the number of connections (some 1.7 kB each) and with the
    data in flight. `sink` gets the events of packets, many at a time, as columns: see `dumbbell.trace.each_packet`.
    """
    with errors_name_files(source):
        found = native().analyze(readable(source), sink)
    counts = found.tally()
    tally = Tally.of(counts)
    if not len(found):
        name = "the capture" if isinstance(source, bytes) else source
        if tally.damage is not None:
            raise BadInput(f"{name}: {tally.damage}; no TCP packet is before that")
        kinds = ", ".join(f"{count} {kind}" for kind, count in tally.remarks())
        raise BadInput(f"{name}: has no TCP among its {tally.other_packets} packets{kinds and f' ({kinds})'}; expected TCP over IP")
    return Analysis(found, tally, counts["negative_rtts"])


def format_endpoint(endpoint: tuple[str, int]) -> str:
    """`address:port`, or `[address]:port` for IPv6."""
    host, port = endpoint
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
