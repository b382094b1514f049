"""The connections of a capture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.errors import BadInput
from dumbbell.native import native
from dumbbell.trace.files import Source, content, named

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
    """What one capture tells."""

    connections: pl.DataFrame
    """One row a connection and direction: `client`, `server` (address:port), `direction` (forward is from the client, who sent the SYN),
    counts of packets and bytes of payload, `first_s`, `last_s`, `throughput_mbit` (payload once, from the first to the last packet with
    any), `rtt_min_ms`, `rtt_median_ms`, `rtt_samples`: from a segment to the ACK that ends with it (null without any)."""
    other_packets: int
    """Packets that are not TCP."""
    cut_short: bool
    """The file ends within a packet."""


def analyze(source: Source) -> Analysis:
    """The TCP connections of a capture file (pcap or pcapng). Raises `BadInput` if it is none, or holds no TCP."""
    import polars as pl

    with named(source):
        found = native().analyze(content(source))
    if not found["connections"]:
        name = "the capture" if isinstance(source, bytes) else source
        raise BadInput(f"{name}: has no TCP among its {found['other_packets']} packets; expected TCP over IP")
    rows = [
        {
            "client": address(connection["source"]),
            "server": address(connection["destination"]),
            "direction": way,
            **_facts(connection["forward"] if way == "forward" else connection["reverse"]),
        }
        for connection in found["connections"]
        for way in ("forward", "reverse")
    ]
    return Analysis(pl.DataFrame(rows, infer_schema_length=None), found["other_packets"], found["cut_short"])


def address(end: tuple[str, int]) -> str:
    """Address and port, as one word."""
    host, port = end
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def numbers(values: bytes) -> NDArray[np.int64]:
    """Integers that the native module handed over."""
    return np.frombuffer(values, dtype="<i8")


def _facts(direction: Direction) -> dict[str, float | int | None]:
    rtt_ms = numbers(direction["rtt_ns"]) / 1e6
    counts: dict[str, float | int | None] = {name: direction[name] for name in _COUNTS}  # type: ignore[literal-required]
    return counts | {
        "first_s": direction["first_ns"] / 1e9,
        "last_s": direction["last_ns"] / 1e9,
        "throughput_mbit": direction["throughput_bps"] / 1e6,
        "rtt_min_ms": float(rtt_ms.min()) if rtt_ms.size else None,
        "rtt_median_ms": float(np.median(rtt_ms)) if rtt_ms.size else None,
        "rtt_samples": int(rtt_ms.size),
    }
