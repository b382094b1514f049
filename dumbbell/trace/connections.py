"""The TCP connections of a capture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.errors import BadInput
from dumbbell.native import native
from dumbbell.trace.files import Source, errors_name_files, read_bytes

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from dumbbell._native import Direction

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


@dataclass(frozen=True)
class Analysis:
    """What one capture contains."""

    connections: pl.DataFrame
    """One row per connection and direction.

    `client`, `server`: address:port; the client is the end that sent the SYN. `direction`: `forward` is from the client to the server.
    Counts of packets and of payload bytes. `first_s`, `last_s`: times of the first and last packet. `throughput_mbit`: payload without
    retransmissions, over the time from the first to the last packet with payload. `rtt_min_ms`, `rtt_median_ms` (null without samples),
    `rtt_samples`: from a segment to the ACK whose number is the end of that segment.
    """
    other_packets: int
    """Number of packets that are not TCP."""
    cut_short: bool
    """The file ends in the middle of a packet. The packets before it are counted."""


def analyze(source: Source) -> Analysis:
    """The TCP connections of a capture file (pcap or pcapng). Raises `BadInput` if it is no capture or contains no TCP."""
    import polars as pl

    with errors_name_files(source):
        found = native().analyze(read_bytes(source))
    if not found["connections"]:
        name = "the capture" if isinstance(source, bytes) else source
        raise BadInput(f"{name}: has no TCP among its {found['other_packets']} packets; expected TCP over IP")
    rows = [
        {
            "client": format_endpoint(connection["source"]),
            "server": format_endpoint(connection["destination"]),
            "direction": name,
            **_measures(direction),
        }
        for connection in found["connections"]
        for name, direction in (("forward", connection["forward"]), ("reverse", connection["reverse"]))
    ]
    return Analysis(pl.DataFrame(rows, infer_schema_length=None), found["other_packets"], found["cut_short"])


def format_endpoint(endpoint: tuple[str, int]) -> str:
    """`address:port`, or `[address]:port` for IPv6."""
    host, port = endpoint
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def int64_array(values: bytes) -> NDArray[np.int64]:
    """The little-endian integers that the native module returns, as an array."""
    return np.frombuffer(values, dtype="<i8")


def _measures(direction: Direction) -> dict[str, float | int | None]:
    rtt_ms = int64_array(direction["rtt_ns"]) / 1e6
    counts: dict[str, float | int | None] = {name: direction[name] for name in _COUNTS}  # type: ignore[literal-required]
    return counts | {
        "first_s": direction["first_ns"] / 1e9,
        "last_s": direction["last_ns"] / 1e9,
        "throughput_mbit": direction["throughput_bps"] / 1e6,
        "rtt_min_ms": float(rtt_ms.min()) if rtt_ms.size else None,
        "rtt_median_ms": float(np.median(rtt_ms)) if rtt_ms.size else None,
        "rtt_samples": int(rtt_ms.size),
    }
