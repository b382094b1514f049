"""Effect of each packet of a capture on its connection: time-sequence, RTT, outstanding data, windows, and throughput over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.trace.connections import Analysis, analyze
from dumbbell.trace.files import Source

if TYPE_CHECKING:
    import polars as pl

_NONE = np.iinfo(np.int64).min
_KINDS = ("reverse", "syn", "fin", "rst", "out_of_order", "probe", "dsack", "sack", "ece", "cwr")
"""The lowest bits of `kind`, from the lowest."""
_ECN_AT, _PSH_AT = 10, 12


def each_packet(source: Source, take: Callable[[pl.DataFrame], None]) -> Analysis:
    """Analyse a capture, and hand on a row for each TCP packet, at most 100,000 rows at a time.

    `connection`: its number, from 0, in order of the first packets. `reverse`: the server sent it. `t_s`, and exactly `t_ns`; `start`: its
    first sequence number, counted from the sender's first; `payload` bytes; `ack`: counted likewise from the other end's first;
    `window_bytes` that it advertises; `outstanding_bytes`: what its sender has sent and not been acknowledged after it,
    `other_outstanding_bytes` the other end; `rtt_ms` that it gives, of the other end's data; `again_bytes` that were sent before;
    `sack_start`, `sack_end`: its first SACK block, counted as `ack`; `ecn` (0 to 3), and flags by their names.
    """
    return analyze(source, lambda columns: take(_frame(columns)))


def packets(source: Source, connection: int | None = None) -> pl.DataFrame:
    """The rows of `each_packet`, of one connection or of all of them: for captures that fit into memory."""
    import polars as pl

    found: list[pl.DataFrame] = []
    each_packet(source, lambda rows: found.append(rows if connection is None else rows.filter(pl.col("connection") == connection)))
    return pl.concat(found)


def throughput(rows: pl.DataFrame, window_s: float) -> pl.DataFrame:
    """Payload in windows of `window_s`: `connection`, `reverse`, `t_s` (the start of the window), `bytes`, `new_bytes` (not sent before).

    Windows without payload have no row.
    """
    import polars as pl

    data = rows.filter(pl.col("payload") > 0)
    # SYN and FIN count as retransmitted, but are no payload.
    new = (pl.col("payload") - pl.col("again_bytes")).clip(lower_bound=0)
    window = (pl.col("t_s") / window_s).floor() * window_s
    return (
        data.group_by("connection", "reverse", window.alias("t_s"))
        .agg(pl.col("payload").sum().alias("bytes"), new.sum().alias("new_bytes"))
        .sort("connection", "reverse", "t_s")
    )


def _frame(columns: Mapping[str, bytes]) -> pl.DataFrame:
    import polars as pl

    wide = {name: np.frombuffer(content, dtype="<i8") for name, content in columns.items() if name != "kind"}
    kind = np.frombuffer(columns["kind"], dtype="<u2")

    def known(name: str) -> pl.Series:
        return pl.Series(name, wide[name]).replace(_NONE, None)

    flags = {name: (kind >> place & 1).astype(bool) for place, name in enumerate(_KINDS)}
    return pl.DataFrame(
        {
            "connection": wide["connection"],
            "reverse": flags.pop("reverse"),
            "t_s": wide["t_ns"] / 1e9,
            "t_ns": wide["t_ns"],
            "start": known("start"),
            "payload": wide["payload"],
            "ack": known("ack"),
            **{name: wide[name] for name in ("window_bytes", "outstanding_bytes", "other_outstanding_bytes")},
            "rtt_ms": pl.Series(np.where(wide["rtt_ns"] == _NONE, np.nan, wide["rtt_ns"] / 1e6)).fill_nan(None),
            "again_bytes": wide["again_bytes"],
            "sack_start": known("sack_start"),
            "sack_end": known("sack_end"),
            "ecn": (kind >> _ECN_AT & 3).astype(np.uint8),
            **flags,
            "psh": (kind >> _PSH_AT & 1).astype(bool),
        }
    )
