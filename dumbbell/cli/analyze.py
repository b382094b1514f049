"""`dumbbell analyze LEFT [RIGHT]`: the TCP connections of a capture, and their RTT between two capture points."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dumbbell.cli.output import JsonOption, note, print_json

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.comparing.tables import Table

_PERCENTILES = (5, 50, 95)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="analyze")(_analyze)


def _analyze(
    left: Annotated[Path, typer.Argument(metavar="LEFT.pcap", help="A packet capture (pcap or pcapng).")],
    right: Annotated[Path | None, typer.Argument(metavar="[RIGHT.pcap]", help="A capture of the same packets at the other end.")] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write the RTT samples between the two points to this file.")] = None,
    json: JsonOption = False,
) -> None:
    """Show the TCP connections of a capture, and with two captures their RTT by synthetic packet pairs."""
    from dumbbell.cli.tables import print_tables
    from dumbbell.errors import BadInput
    from dumbbell.files import write_text
    from dumbbell.trace import analyze, packet_pairs

    if csv is not None and right is None:
        raise BadInput("--csv: RTT samples need two capture points; expected LEFT.pcap RIGHT.pcap")
    found = analyze(left)
    for file, cut_short in ((left, found.cut_short), (right, right is not None and analyze(right).cut_short)):
        if cut_short:
            note(f"{file}: ends within a packet; what comes before it counts")
    pairs = None if right is None else packet_pairs(left, right)
    if csv is not None and pairs is not None:
        write_text(csv, pairs.write_csv())
        note(f"{len(pairs)} samples in {csv}")
    if json:
        document: dict[str, Any] = {"connections": found.connections.to_dicts(), "other_packets": found.other_packets}
        print_json(document if pairs is None else {**document, "rtt": _percentiles(pairs).to_dicts()})
        return
    tables = [_connections(found.connections)]
    print_tables(tables if pairs is None else [*tables, _rtts(_percentiles(pairs))])


def _percentiles(pairs: pl.DataFrame) -> pl.DataFrame:
    """A row per direction: number of samples, percentiles of the RTT in ms."""
    import polars as pl

    quantiles = [pl.col("rtt_ms").quantile(q / 100, "linear").alias(f"p{q}_ms") for q in _PERCENTILES]
    return pairs.group_by("source", "destination", maintain_order=True).agg(pl.len().alias("samples"), *quantiles)


def _connections(frame: pl.DataFrame) -> Table:
    from dumbbell.comparing.tables import Table

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    columns = ("from", "to", "packets", "bytes", "again", "late", "SACK", "Mbit/s", "RTT min", "median")
    rows = []
    for row in frame.iter_rows(named=True):
        ends = (row["client"], row["server"])
        counts = (row["packets"], row["unique_bytes"], row["retransmitted_packets"], row["out_of_order_packets"], row["sack_packets"])
        measured = (row["throughput_mbit"], row["rtt_min_ms"], row["rtt_median_ms"])
        rows.append([*(ends if row["direction"] == "forward" else ends[::-1]), *map(str, counts), *map(number, measured)])
    return Table("Payload once; packets sent again, out of order, with SACK; RTT (ms) from a segment to its ACK", columns, rows)


def _rtts(frame: pl.DataFrame) -> Table:
    from dumbbell.comparing.tables import Table

    columns = ("data from", "to", "samples", *(f"p{q} ms" for q in _PERCENTILES))
    rows = [[row[0], row[1], str(row[2]), *(f"{value:.3f}" for value in row[3:])] for row in frame.iter_rows()]
    return Table("RTT between the two points (packet pairs)", columns, rows)
