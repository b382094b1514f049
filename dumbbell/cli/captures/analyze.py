"""`dumbbell analyze FILE`: the TCP connections of a capture; with `--pair LEFT RIGHT`: RTTs, losses and delays between two points."""

from __future__ import annotations

import json as standard_json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from dumbbell.cli.captures.capture_files import Series
from dumbbell.cli.captures.capture_tables import ROWS, long_tables, pair_tables, percentiles, remarks, short_tables
from dumbbell.cli.output import JsonOption, note, show
from dumbbell.cli.tables import print_tables
from dumbbell.errors import BadInput
from dumbbell.files import creatable, write_text
from dumbbell.results import check_capture
from dumbbell.trace import Analysis, PacketPairs, analyze, pairs_between

_DAMAGED = 2
"""Exit status after the readable part of a damaged file was shown."""


def command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE.pcap...", help="Packet captures: pcap, pcapng, plain, .gz or .zst.")],
    pair: Annotated[bool, typer.Option("--pair", help="The two files come from two points of one path: LEFT.pcap RIGHT.pcap.")] = False,
    each: Annotated[bool, typer.Option("--each", help="Several files, each a capture on its own.")] = False,
    long: Annotated[bool, typer.Option("--long", help="Print every fact of each connection, as tcptrace -l does.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", callback=creatable, help="Write connections, packets and throughput as Parquet to this folder.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", callback=creatable, help="Draw connections over time (PNG and SVG) into this folder.")
    ] = None,
    connection: Annotated[
        list[int] | None,
        typer.Option("--connection", metavar="N", help="Draw only this connection, counted from 1. Repeatable. Default: the four largest."),
    ] = None,
    window: Annotated[float, typer.Option("--window", metavar="SECONDS", help="Averaging window of the throughput over time.")] = 0.1,
    csv: Annotated[
        Path | None, typer.Option("--csv", callback=creatable, help="With --pair: write the RTT samples between the points to this file.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show the TCP connections of captures and what held them back. With --pair: RTTs, losses and delays between two points of a path."""
    _check(files, pair, each, csv)
    if (out or plot) and each and len({file.name for file in files}) < len(files):
        raise BadInput("--each: files of one name would be written to one folder; expected different names, or no --out and --plot")
    if not window > 0:
        raise BadInput(f"--window {window:g}: expected a time above 0 s")
    for file in files:
        check_capture(file)
    damaged = False
    if pair:
        damaged = _pair(files[0], files[1], long, csv, json, _series(files[0], out, plot, connection, window))
    else:
        for file in files:
            target = [folder / file.name if folder and each else folder for folder in (out, plot)]
            damaged |= _one(file, long, json, _series(file, target[0], target[1], connection, window), named=each)
    if damaged:
        raise typer.Exit(_DAMAGED)


def _check(files: Sequence[Path], pair: bool, each: bool, csv: Path | None) -> None:
    """Check the arguments. An ambiguous call is an error: two files once were two points, and three were an error."""
    if pair and each:
        raise BadInput("--pair and --each exclude each other; expected one of them")
    if pair and len(files) != 2:
        raise BadInput(f"--pair: {len(files)} files; expected two, LEFT.pcap RIGHT.pcap")
    if csv is not None and not pair:
        raise BadInput("--csv: RTT samples need two capture points; expected --pair LEFT.pcap RIGHT.pcap")
    if len(files) > 1 and not pair and not each:
        two = f"`dumbbell analyze --pair {files[0]} {files[1]}` for two points of one path, or " if len(files) == 2 else ""
        raise BadInput(f"{len(files)} files: expected {two}--each for captures on their own")


def _series(file: Path, out: Path | None, plot: Path | None, connection: list[int] | None, window_s: float) -> Series | None:
    """Return the series to write or draw of a capture's packets; None if there are none."""
    if out is None and plot is None:
        return None
    return Series(file, out, plot, tuple(connection or ()), window_s)


def _one(file: Path, long: bool, json: bool, series: Series | None, named: bool) -> bool:
    """Shows one capture. Returns whether it is damaged."""
    found = analyze(file) if series is None else series.analyze()
    if json:
        _print_json(found, {file: found}, None)
    else:
        if named:
            show(f"{file}\n")
        print_tables((long_tables if long else short_tables)(found.rows()))
        print_tables(remarks([found], None))
    return _tell(file, found)


def _pair(left: Path, right: Path, long: bool, csv: Path | None, json: bool, series: Series | None) -> bool:
    """Show the content of the left capture, and the RTTs, losses and delays between it and the right one. Return true if one of them is
    damaged."""
    captures = {left: analyze(left) if series is None else series.analyze(), right: analyze(right)}
    pairs = pairs_between(left, right)
    if csv is not None:
        samples = pairs.samples
        write_text(csv, samples.write_csv())
        note(f"{len(samples)} samples in {csv}")
    found = captures[left]
    if json:
        _print_json(found, captures, pairs)
    else:
        print_tables((long_tables if long else short_tables)(found.rows()))
        print_tables(pair_tables(pairs))
        print_tables(remarks(captures.values(), pairs))
    damaged = [_tell(file, capture) for file, capture in captures.items()]
    return any(damaged)


def _tell(file: Path, found: Analysis) -> bool:
    """Says where a capture ends too early, or is damaged; returns the latter."""
    tally = found.tally
    if tally.cut_short is not None:
        note(f"{file}: ends within a packet, after {tally.cut_short} bytes; what comes before it counts")
    if tally.damage is not None:
        note(f"{file}: {tally.damage}; the {tally.tcp_packets} TCP packets before that count")
    return tally.damage is not None


def _print_json(found: Analysis, captures: dict[Path, Analysis], pairs: PacketPairs | None) -> None:
    """Writes the document to stdout connection by connection: as one string it would need more memory than the analysis."""
    facts: dict[str, Any] = {
        "other_packets": found.tally.other_packets,
        "captures": [
            {"file": str(file), **capture.tally.document(), "negative_rtts": capture.negative_rtts} for file, capture in captures.items()
        ],
    }
    if pairs is not None:
        facts |= {"rtt": percentiles(pairs.samples).to_dicts(), "ways": pairs.ways.to_dicts(), "negative_pairs": pairs.left_out}
    separator = '{\n "connections": [\n'
    rows: Iterator[dict[str, Any]] = found.rows()
    while batch := [_indented(row) for row in islice(rows, ROWS)]:
        show(separator + ",\n".join(batch), end="")
        separator = ",\n"
    show(f"\n ],{standard_json.dumps(facts, indent=1, allow_nan=False).removeprefix('{')}")


def _indented(row: dict[str, Any]) -> str:
    """A row as JSON within the list of connections."""
    return "  " + standard_json.dumps(row, indent=1, allow_nan=False).replace("\n", "\n  ")
