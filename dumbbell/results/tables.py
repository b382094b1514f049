"""The tables of a run: `flows` (one row per TCP connection or UDP stream), `groups` (one row per workload whose connections come and go, or
carry requests and responses), `ports` (one row per port) and `tins` (one row per tin of a cake that has several, or keywords that few use).
Columns are those of the schema.

A short table is held as lists and stored as JSON; a long one is held as a polars frame and stored as Parquet. Each form is converted to the
other on demand.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dumbbell.results.names import are_names
from dumbbell.results.schema import Quantity, schema, whole
from dumbbell.results.series import read_parquet
from dumbbell.results.storage.checksums import StoredFile, damaged

if TYPE_CHECKING:
    import polars as pl

FLOWS, GROUPS, PORTS, TINS = "flows", "groups", "ports", "tins"
KEYS: Mapping[str, str] = {FLOWS: "flow", GROUPS: "group", PORTS: "port", TINS: "tin"}
"""Table -> the column that names its rows."""
NOT_ALWAYS = (GROUPS, TINS)
"""Tables that a run without rows for them does not have."""
TCP, UDP, ICMP = "tcp", "udp", "icmp"
"""Values of the column `transport` of flows."""
NOT_TCP = (UDP, ICMP)
"""Transports of streams of datagrams."""
DATAGRAM_KINDS = ("ping", "udp", "voip", "program")
"""Kinds of their streams. A program may make one."""
MOST_LISTED = 1000
"""A table with at most this many rows is held as lists and stored in run.json."""

_LIFE = ("start_ns", "end_ns")

Value: TypeAlias = str | int | float | None
Columns: TypeAlias = Mapping[str, Sequence[Value]]


class Table:
    """Columns of equal length by name; None where a row has no value. Immutable."""

    def __init__(self, name: str, content: Columns | pl.DataFrame | StoredFile, rows: int | None = None) -> None:
        """`name` is one of `KEYS`; `content` is not checked. A file, which has `rows` rows, is read on first use."""
        self.name = name
        self._columns: Columns | None = None
        self._frame: pl.DataFrame | None = None
        self._file: StoredFile | None = None
        if isinstance(content, Mapping):
            self._columns, self._rows = content, len(next(iter(content.values()), ()))
        elif isinstance(content, StoredFile):
            self._file, self._rows = content, rows or 0
        else:
            self._frame, self._rows = content, len(content)

    @classmethod
    def of_rows(cls, name: str, rows: Sequence[Mapping[str, Any]], also: Iterable[str] = ()) -> Table:
        """A table from rows; a row may lack columns. The columns `also` are there even if no row has them.

        Raises `ValueError` for a column that is not in the schema.
        """
        present = {KEYS[name], *also}.union(*rows)
        if unknown := present - schema().table(name).keys():
            raise ValueError(f"the table of {name} has no column {', '.join(sorted(unknown))}")
        return cls(name, {column: [row.get(column) for row in rows] for column in schema().table(name) if column in present})

    @classmethod
    def of_numbers(
        cls,
        name: str,
        labels: Mapping[str, Sequence[str | None]],
        columns: Sequence[str],
        values: Any,
        some: Mapping[int, Mapping[str, Value]] | None = None,
    ) -> Table:
        """A table from columns of text and an array of numbers, shape (rows, columns), NaN where there is no value.

        Args:
            some: Numbers of other columns, which only some rows have, by position of the row.
        """
        known, integers = schema().table(name), whole(name)
        only = _columns_of_some(some or {}, len(values))
        if len(values) <= MOST_LISTED:
            lists = {**only, **labels, **{column: _listed(values[:, i], column in integers) for i, column in enumerate(columns)}}
            return cls(name, {column: lists[column] for column in known if column in lists})
        import polars as pl

        frame = pl.DataFrame(dict(labels), schema=dict.fromkeys(labels, pl.String)).with_columns(
            pl.Series(column, np.ascontiguousarray(values[:, i]), nan_to_null=True).cast(pl.Int64 if column in integers else pl.Float64)
            for i, column in enumerate(columns)
        )
        frame = frame.with_columns(
            pl.Series(column, listed, dtype=pl.Int64 if column in integers else pl.Float64) for column, listed in only.items()
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
        """The table as a polars frame: times and counts are Int64, RTTs Float64, names String.

        Raises `DamagedRun` if it is in a file that is not as it was written.
        """
        if self._frame is None:
            self._frame = _of_lists(self.name, self._columns) if self._columns is not None else _read(self.name, self._file, self._rows)
        return self._frame

    @property
    def names(self) -> Sequence[str]:
        """The names of the rows: flows or ports."""
        return [str(name) for name in self.column(KEYS[self.name])]

    @property
    def connections(self) -> list[str]:
        """The names of the TCP connections. Only for the table of flows."""
        return [name for name, transport in zip(self.names, self.column("transport"), strict=True) if transport not in NOT_TCP]

    def column(self, name: str) -> Sequence[Value]:
        """The values of one column, shape (rows,); all None if the table lacks it."""
        if self._columns is None:
            return self.frame[name].to_list() if name in self.frame.columns else [None] * len(self)
        return self._columns.get(name, [None] * len(self))

    def rows(self) -> list[dict[str, Any]]:
        """The rows, each column -> value, without columns that have no value there."""
        columns = self.columns
        return [
            {column: value for column, value in zip(columns, row, strict=True) if value is not None}
            for row in zip(*columns.values(), strict=True)
        ]

    def row(self, i: int) -> dict[str, Any]:
        """A row, as of `rows`."""
        values = self.frame.row(i) if self._columns is None else [listed[i] for listed in self._columns.values()]
        columns = self.frame.columns if self._columns is None else self._columns
        return {column: value for column, value in zip(columns, values, strict=True) if value is not None}

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
    """The tables of flows and ports from counters by entity (the inverse of `counters`). Raises `ValueError` for an unknown counter."""
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


def _read(name: str, file: StoredFile | None, rows: int) -> pl.DataFrame:
    """A long table. Raises `DamagedRun` unless it is as short ones must be."""

    assert file is not None  # a table is lists, a frame or a file
    frame, known = read_parquet(file), schema().table(name)
    if unknown := set(frame.columns) - known.keys():
        raise damaged(file.path, f"has the columns {', '.join(sorted(unknown))}, which the table of {name} has not")
    if len(frame) != rows:
        raise damaged(file.path, f"has {len(frame)} rows, not {rows}")
    if KEYS[name] not in frame.columns or frame[KEYS[name]].null_count():
        raise damaged(file.path, "has rows without a name")
    if wrong := next((column.name for column in frame if not _holds(column, known[column.name])), None):
        raise damaged(file.path, f"column {wrong!r} does not hold what it should")
    if name == FLOWS:
        try:
            check_flows(Table(name, frame))
        except ValueError as error:
            raise damaged(file.path, str(error)) from None
    return frame


def _holds(column: pl.Series, quantity: Quantity) -> bool:
    """True if the values of a column of a long table are allowed in a short table."""
    import polars as pl

    if column.dtype == pl.Null:
        return True
    if not quantity.is_number:
        return column.dtype == pl.String and are_names(column.drop_nulls().unique())
    if column.dtype != pl.Int64 and (quantity.is_whole or column.dtype != pl.Float64):
        return False
    return bool((column.cast(pl.Float64).is_finite() & (column >= 0)).all())


def check_flows(flows: Table) -> None:
    """Raises `ValueError` for a row of the table of flows that is of no known kind, or has no life."""
    lives = zip(*map(flows.column, ("flow", "transport", "kind", *_LIFE)), strict=True)
    for flow, transport, kind, start_ns, end_ns in lives:
        if transport in NOT_TCP:
            if kind is not None and kind not in DATAGRAM_KINDS:
                raise ValueError(f"flow {flow!r} is of the unknown kind {kind!r}")
        elif start_ns is None or end_ns is None or end_ns < start_ns:
            raise ValueError(f"flow {flow!r} lacks its start or its end")


def counters(flows: Table, ports: Table) -> dict[str, dict[str, int]]:
    """Entity (see `entity_of`, and `port/NAME`) -> column -> value, for the integer columns of both tables."""
    found: dict[str, dict[str, int]] = {}
    wanted = [column for column in schema().flows if column in whole(FLOWS) and column not in _LIFE]
    for row in flows.rows():
        values = {column: row[column] for column in wanted if column in row}
        if row.get("transport") not in NOT_TCP:
            values |= {"start_ns": row["start_ns"], "active_ns": row["end_ns"] - row["start_ns"]}
        found[entity_of(row)] = values
    for row in ports.rows():
        found[f"port/{row.pop('port')}"] = row
    return found


def _columns_of_some(some: Mapping[int, Mapping[str, Value]], rows: int) -> dict[str, list[Value]]:
    names = dict.fromkeys(column for row in some.values() for column in row)
    return {column: [some[i].get(column) if i in some else None for i in range(rows)] for column in names}


def entity_of(row: Mapping[str, Any]) -> str:
    """Return the name of a row of the table of flows in series and counters: `flow/NAME` for TCP, else `ping/NAME`, `udp/NAME` or
    `voip/NAME`.

    Earlier versions stored no kind, and had only datagrams over UDP.
    """
    return f"{row.get('kind', UDP) if row.get('transport') in NOT_TCP else 'flow'}/{row['flow']}"


def _listed(values: Any, integers: bool) -> list[Value]:
    return [None if math.isnan(value) else int(value) if integers else value for value in values.tolist()]
