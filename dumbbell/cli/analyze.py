"""`dumbbell analyze LEFT [RIGHT]`: the TCP connections of a capture, and their RTT between two capture points."""

from __future__ import annotations

import json as standard_json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dumbbell.cli.output import JsonOption, note
from dumbbell.files import creatable

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.comparing.tables import Table
    from dumbbell.trace import Analysis, PacketPairs

_PERCENTILES = (5, 50, 95)
_TABLE_ROWS = 5_000
"""Rows of a table; more are printed as several tables, so that a capture of many connections needs little memory."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="analyze")(_analyze)


def _analyze(
    left: Annotated[Path, typer.Argument(metavar="LEFT.pcap", help="A packet capture (pcap or pcapng).")],
    right: Annotated[Path | None, typer.Argument(metavar="[RIGHT.pcap]", help="A capture of the same packets at the other end.")] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", callback=creatable, help="Write the RTT samples between the two points to this file.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show the TCP connections of a capture, and with two captures their RTT by synthetic packet pairs."""
    from dumbbell.cli.tables import print_tables
    from dumbbell.errors import BadInput
    from dumbbell.files import write_text
    from dumbbell.results import check_capture
    from dumbbell.trace import analyze, pairs_between

    if csv is not None and right is None:
        raise BadInput("--csv: RTT samples need two capture points; expected LEFT.pcap RIGHT.pcap")
    for file in (left, right):
        if file is not None:
            check_capture(file)
    found = analyze(left)
    captures = {left: found} if right is None else {left: found, right: analyze(right)}
    pairs = None if right is None else pairs_between(left, right)
    for file, capture in captures.items():
        if capture.tally.cut_short:
            note(f"{file}: ends within a packet; what comes before it counts")
    if csv is not None and pairs is not None:
        samples = pairs.samples
        write_text(csv, samples.write_csv())
        note(f"{len(samples)} samples in {csv}")
    if json:
        _print_json(found, captures, pairs)
        return
    print_tables(_connections(found.rows()))
    print_tables([] if pairs is None else [_rtts(_percentiles(pairs.samples))])
    print_tables(_remarks(captures.values(), pairs))


def _print_json(found: Analysis, captures: dict[Path, Analysis], pairs: PacketPairs | None) -> None:
    """Writes the document to stdout connection by connection: as one string it would need more memory than the analysis."""
    facts: dict[str, Any] = {
        "other_packets": found.tally.other_packets,
        "captures": [
            {"file": str(file), **capture.tally.document(), "negative_rtts": capture.negative_rtts} for file, capture in captures.items()
        ],
    }
    if pairs is not None:
        facts |= {"rtt": _percentiles(pairs.samples).to_dicts(), "negative_pairs": pairs.left_out}
    separator = '{\n "connections": [\n'
    rows = found.rows()
    while batch := [_indented(row) for row in islice(rows, _TABLE_ROWS)]:
        typer.echo(separator + ",\n".join(batch), nl=False)
        separator = ",\n"
    typer.echo(f"\n ],{standard_json.dumps(facts, indent=1, allow_nan=False).removeprefix('{')}")


def _indented(row: dict[str, Any]) -> str:
    """A row as JSON within the list of connections."""
    return "  " + standard_json.dumps(row, indent=1, allow_nan=False).replace("\n", "\n  ")


def _percentiles(pairs: pl.DataFrame) -> pl.DataFrame:
    """A row per direction: number of samples, percentiles of the RTT in ms."""
    import polars as pl

    quantiles = [pl.col("rtt_ms").quantile(q / 100, "linear").alias(f"p{q}_ms") for q in _PERCENTILES]
    return pairs.group_by("source", "destination", maintain_order=True).agg(pl.len().alias("samples"), *quantiles)


def _connections(rows: Iterator[dict[str, Any]]) -> Iterator[Table]:
    from dumbbell.comparing.tables import Table

    title = "Payload once; packets sent again, out of order, with SACK; RTT (ms) from a segment to its ACK"
    columns = ("from", "to", "packets", "bytes", "again", "late", "SACK", "Mbit/s", "RTT min", "median")
    while texts := [_fields(row) for row in islice(rows, _TABLE_ROWS)]:
        yield Table(title, columns, texts)


def _fields(row: dict[str, Any]) -> list[str]:
    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    ends = (row["client"], row["server"])
    counts = (row["packets"], row["unique_bytes"], row["retransmitted_packets"], row["out_of_order_packets"], row["sack_packets"])
    measured = (row["throughput_mbit"], row["rtt_min_ms"], row["rtt_median_ms"])
    return [*(ends if row["direction"] == "forward" else ends[::-1]), *map(str, counts), *map(number, measured)]


def _rtts(frame: pl.DataFrame) -> Table:
    from dumbbell.comparing.tables import Table

    columns = ("data from", "to", "samples", *(f"p{q} ms" for q in _PERCENTILES))
    rows = [[row[0], row[1], str(row[2]), *(f"{value:.3f}" for value in row[3:])] for row in frame.iter_rows()]
    return Table("RTT between the two points (packet pairs)", columns, rows)


def _remarks(captures: Iterable[Analysis], pairs: PacketPairs | None) -> list[Table]:
    """A table of what was not understood of the captures; none if that is nothing."""
    from dumbbell.comparing.tables import Table

    rows = [
        (side, text, str(count))
        for side, capture in zip(("left", "right"), captures, strict=False)
        for text, count in capture.tally.remarks(capture.negative_rtts)
    ]
    if pairs is not None and pairs.left_out:
        rows.append(("both", "packet pair of a negative RTT: no sample", str(pairs.left_out)))
    return [Table("Packets that were not understood, or not as a whole", ("capture", "what", "packets"), rows)] if rows else []
