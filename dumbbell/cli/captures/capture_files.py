"""Files of `dumbbell analyze`: Parquet files (`--out`) and figures (`--plot`), from one reading of the capture if possible."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.cli.output import note
from dumbbell.errors import BadInput
from dumbbell.files import write_file
from dumbbell.trace import Analysis, packets, throughput
from dumbbell.trace.connections import format_endpoint

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.drawing.connection import Way

_DRAWN = 4
"""Connections that are drawn if none is named."""
_MOST_STROKES = 200_000
"""Packets that a figure shows; a longer connection is drawn up to there."""


@dataclass
class Series:
    """The packets of a capture on their way to files."""

    file: Path
    out: Path | None
    plot: Path | None
    connections: tuple[int, ...]
    window_s: float
    _written: int = 0
    _throughput: list[pl.DataFrame] = field(default_factory=list)

    def analyze(self) -> Analysis:
        """Analyse the capture, and write the requested files."""
        from dumbbell.trace import analyze, each_packet

        found = analyze(self.file) if self.out is None else each_packet(self.file, self._take)
        if self.out is not None:
            _write(self.out / "connections.parquet", found.connections)
            _write(self.out / "throughput.parquet", self._joined())
            note(f"connections, {self._written} files of packets and throughput in {self.out}")
        if self.plot is not None:
            self._draw(found, self.plot)
        return found

    def _take(self, rows: pl.DataFrame) -> None:
        assert self.out is not None
        self._written += 1
        _write(self.out / f"packets-{self._written:05d}.parquet", rows)
        self._throughput.append(throughput(rows, self.window_s))

    def _joined(self) -> pl.DataFrame:
        """The throughput of all batches; a window may lie in two."""
        import polars as pl

        keys = ["connection", "reverse", "t_s"]
        return pl.concat(self._throughput).group_by(keys).agg(pl.col("bytes", "new_bytes").sum()).sort(keys)

    def _draw(self, found: Analysis, folder: Path) -> None:
        """Draws each connection from a reading of its own, so that one at a time is in memory."""
        from dumbbell.drawing import style
        from dumbbell.drawing.connection import connection_figure

        count = len(found.found)
        for number in self.connections:
            if not 1 <= number <= count:
                raise BadInput(f"--connection {number}: {self.file} has {count} connections; expected 1 to {count}")
        for number in self.connections or _largest(found):
            (connection,) = found.found.connections(number - 1, number)
            rows = packets(self.file, number - 1)
            if len(rows) > _MOST_STROKES:
                note(f"connection {number}: {len(rows)} packets, of which the first {_MOST_STROKES} are drawn")
                rows = rows.head(_MOST_STROKES)
            ways = _ways(rows, connection, self.window_s)
            if not ways:
                note(f"connection {number}: carried no data, so there is nothing to draw")
                continue
            from_s, to_s = rows["t_s"].min(), rows["t_s"].max()
            assert isinstance(from_s, float)
            assert isinstance(to_s, float)
            figure = connection_figure(f"{self.file.name}, connection {number}", ways, "screen", from_s, to_s)
            names = style.save(figure, folder, f"connection-{number}")
            note(f"connection {number} in {' and '.join(map(str, names))}")


def _largest(found: Analysis) -> list[int]:
    """The numbers of the connections with most payload, from 1, in order."""
    import heapq

    def size(number: int) -> int:
        (connection,) = found.found.connections(number - 1, number)
        return int(connection["forward"]["bytes"] or 0) + int(connection["reverse"]["bytes"] or 0)

    return sorted(heapq.nlargest(_DRAWN, range(1, len(found.found) + 1), key=size))


def _ways(rows: pl.DataFrame, connection: Any, window_s: float) -> list[Way]:
    """The directions that carried data."""
    import numpy as np
    import polars as pl

    from dumbbell.drawing.connection import Way

    ends = [format_endpoint(connection[end]) for end in ("source", "destination")]
    found = []
    for reverse in (False, True):
        sent = rows.filter((pl.col("reverse") == reverse) & (pl.col("payload") > 0) & pl.col("start").is_not_null())
        if sent.is_empty():
            continue
        answers = rows.filter(pl.col("reverse") != reverse)
        rates = throughput(sent, window_s)
        # A window without payload is one of 0.
        windows = np.round(rates["t_s"].to_numpy() / window_s).astype(int)
        filled = np.arange(windows[0], windows[-1] + 2)
        mbit = np.zeros(filled.size)
        mbit[windows - windows[0]] = rates["new_bytes"].to_numpy() * 8e-6 / window_s

        def column(frame: pl.DataFrame, name: str) -> Any:
            return frame[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()

        start = column(sent, "start")
        data = {"t_s": column(sent, "t_s"), "start": start, "end": start + column(sent, "payload")}
        data |= {"again": column(sent, "again_bytes"), "outstanding": column(sent, "outstanding_bytes")}
        names = {"t_s": "t_s", "ack": "ack", "window": "window_bytes", "outstanding": "other_outstanding_bytes", "rtt_ms": "rtt_ms"}
        title = " to ".join(ends[::-1] if reverse else ends)
        found.append(Way(title, data, {name: column(answers, of) for name, of in names.items()}, (filled * window_s, mbit)))
    return found


def _write(path: Path, frame: pl.DataFrame) -> None:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=1, statistics=False)
    write_file(path, buffer.getvalue())
