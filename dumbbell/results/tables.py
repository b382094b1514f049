"""The tables of a run: `flows`, a row a TCP connection or stream of datagrams, and `ports`, a row a port. Columns are those of the schema.

A table of a few rows is lists, which JSON is made of; one of many is a polars frame, which Parquet is made of. Either becomes the other
when it is asked for.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dumbbell.errors import BadInput
from dumbbell.results.schema import schema
from dumbbell.results.series import unreadable

if TYPE_CHECKING:
    import polars as pl

FLOWS, PORTS = "flows", "ports"
KEYS: Mapping[str, str] = {FLOWS: "flow", PORTS: "port"}
"""The column that names the rows."""
TCP, UDP = "tcp", "udp"
"""What a flow's column `transport` holds."""
MOST_LISTED = 1000
"""Rows of a table that is kept as lists, and in run.json."""

_LIFE = ("start_ns", "end_ns")

Value: TypeAlias = str | int | float | None
Columns: TypeAlias = Mapping[str, Sequence[Value]]


class Table:
    """Columns of the same length by name; None where a row has no value. Not to be changed."""

    def __init__(self, name: str, content: Columns | pl.DataFrame | Path, rows: int | None = None) -> None:
        """Takes what it is made of as it is; `name` is `flows` or `ports`. A file of so many rows is read when it is asked for."""
        self.name = name
        self._columns: Columns | None = None
        self._frame: pl.DataFrame | None = None
        self._file: Path | None = None
        if isinstance(content, Mapping):
            self._columns, self._rows = content, len(next(iter(content.values()), ()))
        elif isinstance(content, Path):
            self._file, self._rows = content, rows or 0
        else:
            self._frame, self._rows = content, len(content)

    @classmethod
    def of_rows(cls, name: str, rows: Sequence[Mapping[str, Any]]) -> Table:
        """A table of its rows, which may lack what they have no value of. ValueError on a column that the schema lacks."""
        present = {KEYS[name]}.union(*rows)
        if unknown := present - schema().table(name).keys():
            raise ValueError(f"the table of {name} has no column {', '.join(sorted(unknown))}")
        return cls(name, {column: [row.get(column) for row in rows] for column in schema().table(name) if column in present})

    @classmethod
    def of_numbers(cls, name: str, labels: Mapping[str, Sequence[str | None]], columns: Sequence[str], values: Any) -> Table:
        """A table of labels and of an array of numbers, shape (rows, columns), NaN where there is none."""
        known = schema().table(name)
        if len(values) <= MOST_LISTED:
            lists = {**labels, **{column: _listed(values[:, i], known[column].is_whole) for i, column in enumerate(columns)}}
            return cls(name, {column: lists[column] for column in known if column in lists})
        import polars as pl

        frame = pl.DataFrame(dict(labels), schema=dict.fromkeys(labels, pl.String)).with_columns(
            pl.Series(column, np.ascontiguousarray(values[:, i]), nan_to_null=True).cast(pl.Int64 if known[column].is_whole else pl.Float64)
            for i, column in enumerate(columns)
        )
        return cls(name, frame.select(column for column in known if column in frame.columns))

    @property
    def columns(self) -> Columns:
        """The columns by name, as lists."""
        if self._columns is None:
            self._columns = self.frame.to_dict(as_series=False)
        return self._columns

    @property
    def frame(self) -> pl.DataFrame:
        """The table as polars has it: times and counts are Int64, RTTs Float64, names String.

        Raises `BadInput` if it lies in a file that is truncated or not one of dumbbell's.
        """
        if self._frame is None:
            self._frame = _of_lists(self.name, self._columns) if self._columns is not None else _read(self.name, self._file)
        return self._frame

    @property
    def names(self) -> Sequence[str]:
        """What the rows are of."""
        return [str(name) for name in self.column(KEYS[self.name])]

    @property
    def connections(self) -> list[str]:
        """Of the table of flows: the names of the TCP connections."""
        return [name for name, transport in zip(self.names, self.column("transport"), strict=True) if transport != UDP]

    def column(self, name: str) -> Sequence[Value]:
        """The values of one column; None of every row if the table lacks it."""
        if self._columns is None:
            return self.frame[name].to_list() if name in self.frame.columns else [None] * len(self)
        return self._columns.get(name, [None] * len(self))

    def rows(self) -> list[dict[str, Any]]:
        """Each row by column, without what it has no value of."""
        columns = self.columns
        return [
            {column: value for column, value in zip(columns, row, strict=True) if value is not None}
            for row in zip(*columns.values(), strict=True)
        ]

    def parquet(self) -> bytes:
        """The table as a Parquet file."""
        buffer = io.BytesIO()
        self.frame.write_parquet(buffer, compression="zstd", compression_level=1, statistics=False)
        return buffer.getvalue()

    def __len__(self) -> int:
        return self._rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.name == other.name and self.rows() == other.rows()

    def __repr__(self) -> str:
        return f"Table({self.name!r}, {len(self)} rows)"

    __hash__ = None  # type: ignore[assignment]


def of_counters(found: Mapping[str, Mapping[str, int]]) -> tuple[Table, Table]:
    """The tables of numbers by entity, as `counters` gives them. ValueError on one that the schema lacks."""
    flows: list[dict[str, Any]] = []
    ports: list[dict[str, Any]] = []
    for entity, values in found.items():
        kind, _, name = entity.partition("/")
        row: dict[str, Any] = dict(values)
        if kind == "port":
            ports.append({"port": name, **row})
            continue
        if "active_ns" in row:
            row["end_ns"] = row.setdefault("start_ns", 0) + row.pop("active_ns")
        flows.append({"flow": name, "transport": UDP if kind == UDP else TCP, **row})
    return Table.of_rows(FLOWS, flows), Table.of_rows(PORTS, ports)


def _of_lists(name: str, columns: Columns) -> pl.DataFrame:
    import polars as pl

    known = schema().table(name)
    types = {column: pl.String if not known[column].is_number else pl.Int64 if known[column].is_whole else pl.Float64 for column in columns}
    return pl.DataFrame(dict(columns), schema=types)


def _read(name: str, path: Path | None) -> pl.DataFrame:
    import polars as pl

    assert path is not None  # a table is lists, a frame or a file
    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable(path, error) from None
    if unknown := set(frame.columns) - schema().table(name).keys():
        raise BadInput(f"{path}: has the columns {', '.join(sorted(unknown))}; expected those of the table of {name}")
    return frame


def counters(flows: Table, ports: Table) -> dict[str, dict[str, int]]:
    """The whole numbers of both tables by entity: `flow/NAME` of TCP, `udp/NAME` of datagrams, `port/NAME`."""
    found: dict[str, dict[str, int]] = {}
    wanted = [column for column, quantity in schema().flows.items() if quantity.is_whole and column not in _LIFE]
    for row in flows.rows():
        datagrams = row.get("transport") == UDP
        values = {column: row[column] for column in wanted if column in row}
        if not datagrams:
            values |= {"start_ns": row["start_ns"], "active_ns": row["end_ns"] - row["start_ns"]}
        found[f"{UDP if datagrams else 'flow'}/{row['flow']}"] = values
    for row in ports.rows():
        found[f"port/{row.pop('port')}"] = row
    return found


def _listed(values: Any, whole: bool) -> list[Value]:
    return [None if math.isnan(value) else int(value) if whole else value for value in values.tolist()]
