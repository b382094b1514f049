"""Sampled series: in memory as blocks, on disk as a long Parquet table, and their digest. NaN means no sample and is not stored."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.errors import DamagedRun
from dumbbell.results.schema import schema
from dumbbell.results.storage.checksums import StoredFile, damaged
from dumbbell.results.storage.parquet import check_extent

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

COLUMNS = ("t_ns", "entity", "series", "value")
_SMALL_BYTES = 1 << 20
"""Maximum size of a file of which all rows are read at once, whichever series are asked for."""


@dataclass(frozen=True)
class Block:
    """The samples of one entity."""

    entity: str
    """`flow/NAME` or `port/NAME`."""
    names: tuple[str, ...]
    """Names of its series, as in the schema."""
    t_ns: NDArray[np.int64]
    """Shape (samples,)."""
    values: NDArray[np.float64]
    """Shape (series, samples); NaN where there is no sample."""

    def series(self) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.float64]]]:
        """Name, times (ns) and values of each series that has samples."""
        there = ~np.isnan(self.values)
        for name, row, sampled in zip(self.names, self.values, there, strict=True):
            if sampled.all():
                t_ns, values = self.t_ns, row
            else:
                t_ns, values = self.t_ns[sampled], row[sampled]
            if len(values):
                yield name, t_ns, values

    def until(self, end_ns: int, read: float = 0.0) -> Block:
        """The samples up to the end of a flow, and after it those of `rx_bytes` until the receiver has read all `read` bytes."""
        late = self.t_ns > end_ns
        values = np.where(late, np.nan, self.values)
        if "rx_bytes" in self.names:
            received = self.values[self.names.index("rx_bytes")]
            values[self.names.index("rx_bytes")] = np.where(late & (received >= read), np.nan, received)
        keep = ~np.isnan(values).all(axis=0)
        return Block(self.entity, self.names, self.t_ns[keep], np.ascontiguousarray(values[:, keep]))


def digest(blocks: Sequence[Block]) -> str:
    """SHA-256 over all series that have samples, in order: entity, name, SHA-256 of the times, values (little-endian)."""
    sha = hashlib.sha256()
    for block in blocks:
        whole = _digest_of_times(block.t_ns)
        for name, t_ns, values in block.series():
            times = whole if t_ns is block.t_ns else _digest_of_times(t_ns)
            sha.update(f"{block.entity}\n{name} {len(values)}\n".encode())
            sha.update(times)
            sha.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
    return sha.hexdigest()


def digest_of_frame(frame: pl.DataFrame) -> str:
    """The digest of series that are the long table, in the order of its rows."""
    t_ns, values = frame["t_ns"].to_numpy(), frame["value"].to_numpy()
    return digest([Block(entity, (name,), t_ns[i:j], values[None, i:j]) for i, j, (entity, name) in spans(frame)])


def spans(frame: pl.DataFrame) -> Iterator[tuple[int, int, tuple[str, str]]]:
    """The series of a long table, whose rows lie together: its first row, the row after its last, entity and name."""
    import polars as pl

    if not len(frame):
        return
    begin = frame.select(((pl.col("entity") != pl.col("entity").shift()) | (pl.col("series") != pl.col("series").shift())).fill_null(True))
    starts = np.flatnonzero(begin.to_series().to_numpy()).tolist()
    whose = frame.select("entity", "series")[starts].rows()
    yield from zip(starts, [*starts[1:], len(frame)], whose, strict=True)


def _digest_of_times(t_ns: NDArray[np.int64]) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(t_ns, dtype="<i8").tobytes()).digest()


def to_frame(blocks: Sequence[Block]) -> pl.DataFrame:
    """The long table: `t_ns`, `entity`, `series`, `value`."""
    import polars as pl

    listed = [(block.entity, *series) for block in blocks for series in block.series()]
    entities, names = [each[0] for each in listed], [each[1] for each in listed]
    times = np.concatenate([np.empty(0, np.int64), *(each[2] for each in listed)])
    values = np.concatenate([np.empty(0), *(each[3] for each in listed)])
    which = np.repeat(np.arange(len(listed), dtype=np.uint32), [len(each[2]) for each in listed])
    # Building both string columns at once is twice as fast as building one after the other.
    whose = pl.DataFrame({"entity": entities, "series": names}, schema={"entity": pl.String, "series": pl.String})[which]
    columns = (times, whose["entity"], whose["series"], values)
    return pl.DataFrame(dict(zip(COLUMNS, columns, strict=True)))


def to_parquet(blocks: Sequence[Block]) -> bytes:
    """The long table as a Parquet file; the units are in the metadata of the fields.

    polars writes it; it takes the field metadata as an Arrow schema, which nanoarrow (small) provides instead of pyarrow.
    """
    arrow = arrow_schema(name for block in blocks for name in block.names)
    buffer = io.BytesIO()
    to_frame(blocks).write_parquet(buffer, compression="zstd", compression_level=1, statistics=False, arrow_schema=arrow)
    return buffer.getvalue()


def arrow_schema(names: Iterable[str], before: Sequence[str] = ()) -> Any:
    """The schema of the long table with the units of these series; `before` are columns of text that come before the others."""
    import nanoarrow as na

    known = schema().units
    units = {name: known[name] for name in dict.fromkeys(names) if name in known}
    text = na.Schema(na.Type.LARGE_STRING)
    fields = {
        "t_ns": na.Schema(na.Type.INT64, metadata={"unit": "ns"}),
        "entity": text,
        "series": text,
        "value": na.Schema(na.Type.DOUBLE, metadata={"units": json.dumps(units)}),
    }
    return na.Schema(na.Type.STRUCT, fields={**dict.fromkeys(before, text), **fields})


@dataclass(frozen=True)
class SeriesFile:
    """The series of a run in the store. Read, and checked, at each use; not cached."""

    file: StoredFile
    names: Mapping[str, Sequence[str]]
    """Kind of entity -> names of the sampled series, including series without any value."""
    ends_ns: Mapping[str, tuple[int, int]] | None = None
    """For a file of format 1, which continues after the end of a flow: entity -> end (ns) and bytes read by its receiver."""

    by_now: Callable[[], SeriesFile | None] | None = field(default=None, compare=False, repr=False)
    """Looks where they are by now; None if they are where they were."""

    def frame(self) -> pl.DataFrame:
        """The long table. Raises `DamagedRun`."""
        frame = self._read()
        return frame if self.ends_ns is None else _ended(frame, self.ends_ns)

    def several(self, names: Sequence[str]) -> dict[tuple[str, str], tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """(entity, name) -> times (ns) and values of these series, for all entities that have samples. Raises `DamagedRun`."""
        import polars as pl

        # Filtering costs more than it saves in a small file.
        rows = self._rows(None if self.file.size <= _SMALL_BYTES else pl.col("series").is_in(names))
        t_ns, values = rows["t_ns"].to_numpy(), rows["value"].to_numpy()
        parts: dict[tuple[str, str], list[slice]] = {}
        for first, end, whose in spans(rows):
            if whose[1] in names:
                parts.setdefault(whose, []).append(slice(first, end))
        return {whose: (_joined(t_ns, listed), _joined(values, listed)) for whose, listed in parts.items()}

    def series(self, entity: str, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Times (ns) and values of one series; both empty if it has no sample. Raises `DamagedRun`, or `KeyError` if it was not sampled."""
        import polars as pl

        its = pl.col("entity") == entity
        rows = self._rows(its & (pl.col("series") == name))
        if not len(rows) and not (name in self.names.get(entity.partition("/")[0], ()) and len(self._rows(its))):
            raise KeyError(name)
        return rows["t_ns"].to_numpy(), rows["value"].to_numpy()

    def _rows(self, wanted: pl.Expr | None) -> pl.DataFrame:
        rows = self._read(wanted)
        return rows if self.ends_ns is None else _ended(rows, self.ends_ns)

    def _read(self, wanted: pl.Expr | None = None) -> pl.DataFrame:
        """Read like `_stored`, from the place to which it was moved since the run was read."""
        try:
            return self._fitting(self._stored(wanted))
        except DamagedRun:
            if self.by_now is None or (now := self.by_now()) is None:
                raise
            return now._read(wanted)

    def _fitting(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows, which are samples. Raises `DamagedRun`."""
        if (tuple(rows.columns), rows.dtypes) != (COLUMNS, _dtypes()):
            has = ", ".join(f"{name} ({kind})" for name, kind in rows.schema.items())
            raise damaged(self.file.path, f"has the columns {has}; not {', '.join(COLUMNS)}")
        values = rows["value"].to_numpy()
        known = values if self.ends_ns is None else values[~np.isnan(values)]  # format 1 has NaN
        if any(each.has_nulls() for each in rows.iter_columns()) or not np.isfinite(known).all():
            raise damaged(self.file.path, "has samples that are no numbers")
        return rows

    def _stored(self, wanted: pl.Expr | None = None) -> pl.DataFrame:
        """The rows of the file, or those that are `wanted`."""
        return read_parquet(self.file, wanted)


@cache
def _dtypes() -> list[pl.DataType | type[pl.DataType]]:
    import polars as pl

    return [pl.Int64, pl.String, pl.String, pl.Float64]


def _joined(column: NDArray[Any], parts: Sequence[slice]) -> NDArray[Any]:
    """These parts of a column, one after the other."""
    return column[parts[0]] if len(parts) == 1 else np.concatenate([column[each] for each in parts])


def _ended(frame: pl.DataFrame, ends_ns: Mapping[str, tuple[int, int]]) -> pl.DataFrame:
    """Drops rows of NaN and the rows after the end of a flow; those of `rx_bytes` only from the last byte read on."""
    import polars as pl

    ends = pl.DataFrame(
        [(entity, end_ns, float(read)) for entity, (end_ns, read) in ends_ns.items()],
        schema={"entity": pl.String, "end_ns": pl.Int64, "read": pl.Float64},
        orient="row",
    )
    joined = frame.join(ends, on="entity", how="left", maintain_order="left")
    alive = (
        pl.col("end_ns").is_null()
        | (pl.col("t_ns") <= pl.col("end_ns"))
        | ((pl.col("series") == "rx_bytes") & (pl.col("value") < pl.col("read")))
    )
    return joined.filter(pl.col("value").is_not_nan() & alive).select(COLUMNS)


def read_parquet(file: StoredFile, wanted: pl.Expr | None = None) -> pl.DataFrame:
    """The rows of a stored Parquet file, or those that are `wanted`. Raises `DamagedRun`."""
    import polars as pl

    content = file.read()
    try:
        check_extent(content)
    except ValueError as error:
        raise damaged(file.path, str(error)) from None
    if file.sha256 is None and not _can_be_decoded(content):
        raise damaged(file.path, "is no Parquet file, or truncated or changed")
    try:
        return pl.read_parquet(content) if wanted is None else pl.scan_parquet(content).filter(wanted).collect()
    except parquet_errors() as error:
        raise damaged(file.path, f"cannot be read ({' '.join(str(error).split())[:120]})") from None


def parquet_errors() -> tuple[type[BaseException], ...]:
    """The exceptions of polars for a damaged Parquet file; one of its threads may panic."""
    import polars as pl

    return pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError


@lru_cache(maxsize=1)
def _can_be_decoded(content: bytes) -> bool:
    """True if polars decodes a file without a checksum, of an earlier format. Another process tries it, because damage may end that
    process."""
    program = "import polars, sys; polars.read_parquet(sys.stdin.buffer.read())"
    return not subprocess.run([sys.executable, "-I", "-c", program], input=content, capture_output=True, check=False).returncode
