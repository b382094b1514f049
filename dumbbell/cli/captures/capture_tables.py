"""The tables of `dumbbell analyze`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from dumbbell.comparing.tables import Table
from dumbbell.trace import FACTS

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.trace import Analysis, PacketPairs

ROWS = 5_000
"""Rows of a table; more are printed as several tables, so that a capture of many connections needs little memory."""
PERCENTILES = (5, 50, 95)


def short_tables(rows: Iterator[dict[str, Any]]) -> Iterator[Table]:
    """A row for each direction of a connection."""
    title = "Payload once. Packets retransmitted, out of order, marked CE. RTT (ms) from a segment to its ACK. The longest limit"
    columns = ("from", "to", "packets", "bytes", "again", "late", "CE", "Mbit/s", "RTT min", "median", "held by")
    while texts := [_fields(row) for row in islice(rows, ROWS)]:
        yield Table(title, columns, texts)


def _fields(row: Mapping[str, Any]) -> list[str]:
    ends = (row["client"], row["server"])
    counts = (row["packets"], row["unique_bytes"], row["retransmitted_packets"], row["out_of_order_packets"], row["ce_packets"])
    measured = (row["throughput_mbit"], row["rtt_min_ms"], row["rtt_median_ms"])
    held = "" if row["held_by"] is None else f"{row['held_by']} {row[row['held_by'] + '_share']:.0%}"
    return [*(ends if row["direction"] == "forward" else ends[::-1]), *map(str, counts), *map(_number, measured), held]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def long_tables(rows: Iterator[dict[str, Any]]) -> Iterator[Table]:
    """A table for each connection, as `tcptrace -l` has it: a row for each fact, a column for each direction."""
    for number, forward in enumerate(rows, 1):
        reverse = next(rows)
        state = "closed" if forward["closed"] else "open at the end"
        title = f"Connection {number}: {forward['client']} (a), {forward['server']} (b), {state}"
        facts = [[fact.label, _text(forward[fact.name]), _text(reverse[fact.name])] for fact in FACTS]
        yield Table(title, ("", "a to b", "b to a"), facts)
        why = [["a to b", forward["evidence"]], ["b to a", reverse["evidence"]]]
        yield Table("Limits of each connection", ("data", "shares of time, and what they are known by"), why)


def _text(value: float | int | bool | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def percentiles(pairs: pl.DataFrame) -> pl.DataFrame:
    """A row per direction: number of samples, percentiles of the RTT in ms."""
    import polars as pl

    quantiles = [pl.col("rtt_ms").quantile(q / 100, "linear").alias(f"p{q}_ms") for q in PERCENTILES]
    return pairs.group_by("source", "destination", maintain_order=True).agg(pl.len().alias("samples"), *quantiles)


def pair_tables(pairs: PacketPairs) -> Iterator[Table]:
    """RTTs between two points, losses and one-way delays."""
    columns = ("data from", "to", "samples", *(f"p{q} ms" for q in PERCENTILES))
    rows = [[row[0], row[1], str(row[2]), *map(_number, row[3:])] for row in percentiles(pairs.samples).iter_rows()]
    yield Table("RTT between the two points (packet pairs)", columns, rows)
    title = "From point to point: packets, lost between them, added; delay (ms), which includes the difference of the clocks"
    columns = ("from", "to", "packets", "lost", "added", "min", "p50", "p95", "max")
    yield Table(title, columns, [[row[0], row[1], *map(str, row[2:5]), *map(_number, row[5:])] for row in pairs.ways.iter_rows()])


def remarks(captures: Iterable[Analysis], pairs: PacketPairs | None) -> list[Table]:
    """Return a table of the packets that were not understood; None if all were."""
    rows = [
        (side, text, str(count))
        for side, capture in zip(("left", "right") if pairs else ("",), captures, strict=False)
        for text, count in capture.tally.remarks(capture.negative_rtts)
    ]
    if pairs is not None and pairs.left_out:
        rows.append(("both", "packet pair of a negative RTT: no sample", str(pairs.left_out)))
    title, columns = "Packets that were not understood, or not as a whole", ("capture", "what", "packets")
    if pairs is None:
        return [Table(title, columns[1:], [row[1:] for row in rows])] if rows else []
    return [Table(title, columns, rows)] if rows else []
