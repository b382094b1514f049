"""Reading and checking run.json, in the current format and the previous one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, get_args

from dumbbell.errors import BadInput
from dumbbell.results.conservation import Status, needed
from dumbbell.results.schema import Quantity, schema
from dumbbell.results.series import SeriesFile
from dumbbell.results.tables import FLOWS, GROUPS, KEYS, MOST_LISTED, PORTS, UDP, Table, of_counters

FORMAT = 2
"""The format that is written."""
FORMATS = (1, FORMAT)
"""The formats that can be read. Format 1 has counters by entity instead of tables, and its series continue after the end of a flow."""
_EXPECTED = "expected a run written by dumbbell"


def checked(record: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """The record of a run, read from `path`. Raises `BadInput` if a key is missing or has a value of the wrong kind."""
    shape = _COMMON | (_TABLES if record["format"] == FORMAT else _COUNTERS)
    for key, (expected, fits) in shape.items():
        if key not in record:
            raise BadInput(f"{path}: lacks {key!r}; {_EXPECTED}")
        if not fits(record[key]):
            raise BadInput(f"{path}: {key} is not {expected}; {_EXPECTED}")
    for key in ("plan", GROUPS):
        if not isinstance(record.get(key), dict | None):
            raise BadInput(f"{path}: {key} is not a mapping; {_EXPECTED}")
    return record


def as_record(table: Table, file: str, size: int) -> Mapping[str, Any]:
    """The entry of a table in run.json: its columns, or for a long table the Parquet file that has them."""
    return table.columns if len(table) <= MOST_LISTED else {"file": file, "rows": len(table), "bytes": size}


def tables(record: Mapping[str, Any], path: Path) -> tuple[Table, Table, Table]:
    """The tables of flows, groups and ports of a checked record. Raises `BadInput` if they do not conform to the schema."""
    if record["format"] != FORMAT:
        flows, ports = _of_counters(record["counters"], path)
        return flows, Table(GROUPS, {}), ports
    # A run without groups has no table of them.
    flows, groups, ports = (_table(name, record.get(name, {}), path) for name in (FLOWS, GROUPS, PORTS))
    for table in (flows, groups, ports):
        if len(table) <= MOST_LISTED and any(None in table.column(name) for name in needed(table.name)):
            _check_rows(table, path)
    return flows, groups, ports


def _check_rows(table: Table, path: Path) -> None:
    """Raises `BadInput` for a row without one of the required numbers; UDP streams require fewer."""
    for row in table.rows():
        if lacking := sorted(needed(table.name, row.get("transport") == UDP) - row.keys()):
            raise BadInput(f"{path}: {KEYS[table.name]} {row.get(KEYS[table.name])!r} lacks {', '.join(lacking)}; {_EXPECTED}")


def series_file(record: Mapping[str, Any], flows: Table, path: Path) -> SeriesFile:
    """The series of a checked record, in the Parquet file `path`."""
    if record["format"] == FORMAT:
        return SeriesFile(path, record["series"])
    lives = zip(flows.names, flows.column("end_ns"), flows.column("rx_bytes"), strict=True)
    ends_ns = {f"flow/{name}": (int(end), int(read)) for name, end, read in lives if end is not None and read is not None}
    return SeriesFile(path, {kind: tuple(quantities) for kind, quantities in schema().series.items()}, ends_ns)


def _table(name: str, content: Mapping[str, Any], path: Path) -> Table:
    if "file" in content:
        place = path.parent / f"{name}.parquet"
        size, rows = content.get("bytes"), content.get("rows")
        if content["file"] != place.name or not isinstance(rows, int):
            raise BadInput(f"{path}: {name} is not a table; {_EXPECTED}")
        if not place.exists() or place.stat().st_size != size:
            raise BadInput(f"{place}: is not there, truncated or changed; expected {size} bytes (remove {path.parent} to run it again)")
        return Table(name, place, rows)
    known = schema().table(name)
    if unknown := sorted(content.keys() - known.keys()):
        raise BadInput(f"{path}: {name} has the unknown column {unknown[0]!r}; {_EXPECTED}, and by no later version than this")
    lengths = {len(values) if isinstance(values, list) else -1 for values in content.values()}
    if len(lengths) > 1 or -1 in lengths:
        raise BadInput(f"{path}: {name} is not columns of the same length; {_EXPECTED}")
    for column, values in content.items():
        if not _fits(known[column], values):
            raise BadInput(f"{path}: column {column!r} of {name} does not hold what it should; {_EXPECTED}")
    return Table(name, content)


def _fits(quantity: Quantity, values: Sequence[Any]) -> bool:
    """Whether the values of a column have the types of the schema and are not negative."""
    types = set(map(type, values))
    if not types <= quantity.types:
        return False
    return str in types or all(value is None or value >= 0 for value in values)


def _of_counters(counters: Mapping[str, Any], path: Path) -> tuple[Table, Table]:
    """The tables of a record of format 1."""
    for entity, values in counters.items():
        kind, slash, _ = entity.partition("/")
        if not slash or kind not in _NEEDED_COUNTERS or not isinstance(values, dict) or not all(map(_is_count, values.values())):
            raise BadInput(f"{path}: counters of {entity!r} are not whole numbers by name; {_EXPECTED}")
        if lacking := sorted(_NEEDED_COUNTERS[kind] - values.keys()):
            raise BadInput(f"{path}: counters of {entity!r} lack {', '.join(lacking)}; {_EXPECTED}")
    try:
        return of_counters(counters)
    except ValueError as error:
        raise BadInput(f"{path}: {error}; {_EXPECTED}") from None


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_mapping(value: object) -> bool:
    return isinstance(value, dict)


def _is_cell(value: object) -> bool:
    return isinstance(value, dict) and all(type(coordinate) in (str, int, float) for coordinate in value.values())


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_names(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_texts, value.values()))


_Shape: TypeAlias = dict[str, tuple[str, Callable[[object], bool]]]
"""Key -> (description of the expected value, predicate)."""
_NEEDED_COUNTERS: Mapping[str, frozenset[str]] = {
    "flow": frozenset(("sent_packets", "arrived_packets", "retransmits", "rx_bytes", "active_ns")),
    "udp": frozenset(("sent_packets", "arrived_packets")),
    "port": frozenset(("arrived_packets", "sent_packets", "dropped_overflow", "dropped_aqm", "queued_packets")),
}
"""Format 1: the counters that every flow, UDP stream and port has."""
_COMMON: _Shape = {
    "series_bytes": ("a size", _is_count),
    "key": ("text", _is_text),
    "name": ("text", _is_text),
    "cell": ("coordinates by name", _is_cell),
    "scenario": ("a mapping", _is_mapping),
    "status": (f"one of {', '.join(get_args(Status))}", lambda value: value in get_args(Status)),
    "reasons": ("a list of text", _is_texts),
    "digest": ("text", _is_text),
    "engine": ("a mapping", _is_mapping),
}
_TABLES: _Shape = {
    "series": ("names of series by kind of entity", _is_names),
    "flows": ("a table", _is_mapping),
    "ports": ("a table", _is_mapping),
}
_COUNTERS: _Shape = {"counters": ("a mapping", _is_mapping)}
