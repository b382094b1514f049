"""Reading and checking run.json, in the current format and the previous ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import chain, compress
from typing import Any, TypeAlias, get_args

from dumbbell.files import SafeFolder
from dumbbell.results.conservation import Status, needed
from dumbbell.results.described import check_described
from dumbbell.results.imported import is_import
from dumbbell.results.names import MOST_INTEGER, NotOurs, are_names, is_cell, is_name
from dumbbell.results.schema import schema
from dumbbell.results.series import SeriesFile
from dumbbell.results.storage.checksums import StoredFile
from dumbbell.results.tables import (
    FLOWS,
    GROUPS,
    KEYS,
    MOST_LISTED,
    NOT_ALWAYS,
    NOT_TCP,
    PORTS,
    TINS,
    Table,
    Value,
    check_flows,
    of_counters,
)

FORMAT = 3
"""The format that is written."""
FORMATS = (1, 2, FORMAT)
"""The formats that can be read. Formats 1 and 2 have no checksums. Format 1 has counters by entity instead of tables, and its series
continue after the end of a flow."""
SERIES = "series.parquet"
_MOST_REMEMBERED = 500
"""Values of a table whose types are remembered."""
_LIST, _TEXT, _COORDINATE = frozenset((list,)), frozenset((str,)), frozenset((str, int, float))
"""Types that JSON gives."""
_not_negative = (0.0).__le__


def checked(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record of a run. Raises `ValueError` with the reason if a key is missing or has a wrong value, `NotOurs` for a name."""
    files = _FILES if record["format"] == FORMAT else _SIZE
    shape = _COMMON | files | (_COUNTERS if record["format"] == 1 else _TABLES)
    for key, (expected, fits) in shape.items():
        if key not in record:
            raise ValueError(f"lacks {key!r}")
        if not fits(record[key]):
            raise ValueError(f"{key} is not {expected}")
    if not is_name(record["name"]) or not is_cell(record["cell"]):
        raise NotOurs("name or coordinates are not printable, or too long or large")
    for key in NOT_ALWAYS:
        if not isinstance(record.get(key), dict | None):
            raise ValueError(f"{key} is not a mapping")
    check_described(record)
    return record


def as_record(table: Table, file: str) -> Mapping[str, Any]:
    """The entry of a table in run.json: its columns, or for a long table the Parquet file that has them."""
    return table.columns if len(table) <= MOST_LISTED else {"file": file, "rows": len(table)}


def stored_files(record: Mapping[str, Any], folder: SafeFolder, key: str) -> dict[str, StoredFile]:
    """Return the files of a checked record without run.json and host.json, by name. The formats without checksums do not list captures."""
    if record["format"] == FORMAT:
        return {name: StoredFile.of_record(folder, f"{key}/{name}", entry) for name, entry in record["files"].items()}
    sizes = {SERIES: record["series_bytes"]}
    for table in map(record.get, KEYS):
        if isinstance(table, dict) and _is_text(table.get("file")) and _is_count(table.get("bytes")):
            sizes[table["file"]] = table["bytes"]
    return {name: StoredFile(folder, f"{key}/{name}", size, None) for name, size in sizes.items() if _is_file_name(name)}


def tables(record: Mapping[str, Any], files: Mapping[str, StoredFile]) -> tuple[Table, Table, Table, Table]:
    """The tables of flows, groups, ports and tins of a checked record. Raises `ValueError` if they do not conform to the schema."""
    if record["format"] == 1:
        flows, ports = _of_counters(record["counters"])
        return flows, Table(GROUPS, {}), ports, Table(TINS, {})
    # A run without groups has no table of them, and likewise of tins.
    flows, groups, ports, tins = (_table(name, record.get(name, {}), files) for name in (FLOWS, GROUPS, PORTS, TINS))
    for table in () if is_import(record["engine"]) else (flows, groups, ports, tins):
        if len(table) <= MOST_LISTED and not _is_full(table):
            _check_rows(table)
    if len(flows) <= MOST_LISTED:
        check_flows(flows)
    return flows, groups, ports, tins


def _is_full(table: Table) -> bool:
    """True if each row of a short table has all required numbers."""
    columns = table.columns
    return not len(table) or all(name in columns and None not in columns[name] for name in needed(table.name))


def _check_rows(table: Table) -> None:
    """Raises `ValueError` for a row without one of the required numbers; UDP streams require fewer."""
    for row in table.rows():
        if lacking := sorted(needed(table.name, row.get("transport") in NOT_TCP) - row.keys()):
            raise ValueError(f"{KEYS[table.name]} {row.get(KEYS[table.name])!r} lacks {', '.join(lacking)}")


def series_file(record: Mapping[str, Any], flows: Table, file: StoredFile) -> SeriesFile:
    """The series of a checked record."""
    if record["format"] != 1:
        return SeriesFile(file, record["series"])
    lives = zip(flows.names, flows.column("end_ns"), flows.column("rx_bytes"), strict=True)
    ends_ns = {f"flow/{name}": (int(end), int(read)) for name, end, read in lives if end is not None and read is not None}
    return SeriesFile(file, {kind: tuple(quantities) for kind, quantities in schema().series.items()}, ends_ns)


def _table(name: str, content: Mapping[str, Any], files: Mapping[str, StoredFile]) -> Table:
    if "file" in content:
        file, rows = f"{name}.parquet", content.get("rows")
        if content["file"] != file or file not in files or not _is_count(rows):
            raise ValueError(f"{name} is not a table")
        return Table(name, files[file], rows)
    columns = content.values()
    if not _LIST.issuperset(map(type, columns)) or len(set(map(len, columns))) > 1:
        raise ValueError(f"{name} is not columns of the same length")
    values = list(chain.from_iterable(columns))
    shape = name, tuple(content), tuple(map(type, values))
    misfit, are_numbers, are_text = (_fit if len(values) <= _MOST_REMEMBERED else _fit.__wrapped__)(*shape)
    if misfit:
        raise ValueError(misfit)
    numbers = list(compress(values, are_numbers))
    if not all(map(_not_negative, numbers)) or max(numbers, default=0) > MOST_INTEGER or not are_names(compress(values, are_text)):
        wrong, of = next((column, of) for column, of in content.items() if not all(map(_can_be_held, of)))
        raise (NotOurs if str in map(type, of) else ValueError)(_does_not_hold(name, wrong))
    return Table(name, content)


def _can_be_held(value: Value) -> bool:
    return value is None or (is_name(value) if isinstance(value, str) else 0 <= value <= MOST_INTEGER)


@lru_cache(maxsize=256)
def _fit(name: str, columns: tuple[str, ...], types: tuple[type, ...]) -> tuple[str, tuple[bool, ...], tuple[bool, ...]]:
    """In which way a table with these columns, and these types of their values one after the other, does not conform to the schema, empty
    if it does; and which of the values are numbers, and which text. Remembered, since the runs of a sweep are alike.
    """
    known = schema().table(name)
    if unknown := sorted(set(columns) - known.keys()):
        return f"{name} has the unknown column {unknown[0]!r}", (), ()
    rows = len(types) // len(columns) if columns else 0
    for i, column in enumerate(columns):
        if not known[column].types.issuperset(types[i * rows : (i + 1) * rows]):
            return _does_not_hold(name, column), (), ()
    if rows and (KEYS[name] not in columns or type(None) in types[(at := columns.index(KEYS[name]) * rows) : at + rows]):
        return f"{name} has rows without a name", (), ()
    return "", tuple(each in (int, float) for each in types), tuple(each is str for each in types)


def _does_not_hold(name: str, column: str) -> str:
    return f"column {column!r} of {name} does not hold what it should"


def _of_counters(counters: Mapping[str, Any]) -> tuple[Table, Table]:
    """The tables of a record of format 1."""
    for entity, values in counters.items():
        kind, slash, _ = entity.partition("/")
        if (
            not slash
            or not is_name(entity)
            or kind not in _NEEDED_COUNTERS
            or not isinstance(values, dict)
            or not all(map(_is_count, values.values()))
        ):
            raise ValueError(f"counters of {entity!r} are not whole numbers by name")
        if lacking := sorted(_NEEDED_COUNTERS[kind] - values.keys()):
            raise ValueError(f"counters of {entity!r} lack {', '.join(lacking)}")
    return of_counters(counters)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= MOST_INTEGER


def _is_mapping(value: object) -> bool:
    return isinstance(value, dict)


def _is_coordinates(value: object) -> bool:
    return isinstance(value, dict) and _COORDINATE.issuperset(map(type, value.values()))


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and _TEXT.issuperset(map(type, value))


def _is_names(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_texts, value.values()))


def _is_file_name(name: str) -> bool:
    return is_name(name) and "/" not in name and name not in ("", ".", "..")


def _is_files(value: object) -> bool:
    return (
        isinstance(value, dict)
        and SERIES in value
        and all(
            _is_file_name(name) and isinstance(entry, dict) and _is_count(entry.get("bytes")) and _is_text(entry.get("sha256"))
            for name, entry in value.items()
        )
    )


_Shape: TypeAlias = dict[str, tuple[str, Callable[[object], bool]]]
"""Key -> (description of the expected value, predicate)."""
_NEEDED_COUNTERS: Mapping[str, frozenset[str]] = {
    "flow": frozenset(("sent_packets", "arrived_packets", "retransmits", "rx_bytes", "active_ns")),
    "udp": frozenset(("sent_packets", "arrived_packets")),
    "port": frozenset(("arrived_packets", "sent_packets", "dropped_overflow", "dropped_aqm", "queued_packets")),
}
"""Format 1: the counters that every flow, UDP stream and port has."""
_COMMON: _Shape = {
    "key": ("text", _is_text),
    "name": ("text", _is_text),
    "cell": ("coordinates by name", _is_coordinates),
    "scenario": ("a mapping", _is_mapping),
    "status": (f"one of {', '.join(get_args(Status))}", lambda value: value in get_args(Status)),
    "reasons": ("a list of text", _is_texts),
    "digest": ("text", _is_text),
    "engine": ("a mapping", _is_mapping),
}
_FILES: _Shape = {"files": ("sizes and checksums of files, the series among them", _is_files)}
_SIZE: _Shape = {"series_bytes": ("a size", _is_count)}
_TABLES: _Shape = {
    "series": ("names of series by kind of entity", _is_names),
    "flows": ("a table", _is_mapping),
    "ports": ("a table", _is_mapping),
}
_COUNTERS: _Shape = {"counters": ("a mapping", _is_mapping)}
