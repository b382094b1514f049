"""Reading reference files: published numbers, or other data with the same columns."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dumbbell.comparing.format import Format, Key, KeyValue, Measured
from dumbbell.errors import BadInput

_OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs"}


@dataclass(frozen=True)
class ReferenceValue:
    """One published value."""

    key: Key
    metric: str
    value: float
    line: int
    """Line in the file, where the header is line 1; 0 if it was not read from a file."""
    spread: tuple[float, float] | None = None
    """Minimum and maximum over the reference's runs, if it has several; `value` is then their centre."""


@dataclass(frozen=True)
class Reference:
    """The contents of a reference file."""

    path: Path
    format: Format
    values: tuple[ReferenceValue, ...]

    def lookup(self) -> dict[tuple[Key, str], float]:
        """(cell, metric) -> value."""
        return {(item.key, item.metric): item.value for item in self.values}


def read_reference(path: Path, formats: Iterable[Format]) -> Reference:
    """Read a CSV file whose header is that of one of the formats.

    A file in a long format may omit columns that are not keys (such as the table's number). A file in a wide format may have further
    columns and omit metrics. Raises `BadInput` (one line with file, line, column and what was expected) if the file is not readable, the
    header or a metric is unknown, a row has a wrong number of fields, a number is invalid, or a cell occurs twice.
    """
    known = list(formats)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror or error}); expected a CSV file") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not a text file; expected CSV in UTF-8") from error
    rows = csv.reader(text.splitlines())
    header = [name.strip() for name in next(rows, [])]
    format_ = next((candidate for candidate in known if _matches(header, candidate)), None)
    if format_ is None:
        raise BadInput(f"{path}:1: {_unknown_header(header, known)}")
    values: list[ReferenceValue] = []
    seen: dict[tuple[Key, str], int] = {}
    for row in rows:
        if not any(field.strip() for field in row):
            continue
        line = rows.line_num
        if len(row) != len(header):
            raise BadInput(f"{path}:{line}: {len(row)} fields; expected {len(header)} ({', '.join(header)})")
        fields = {name: field.strip() for name, field in zip(header, row, strict=True)}
        key: Key = tuple(_key_value(path, line, format_, column, fields[column]) for column in format_.keys)
        for metric, column in _cells_of_row(path, line, format_, fields):
            if fields[column] == "" and not format_.long:
                continue
            if (key, metric) in seen:
                raise BadInput(
                    f"{path}:{line}: column {column}: {metric} of this cell stands already in line {seen[key, metric]}; expected it once"
                )
            seen[key, metric] = line
            values.append(ReferenceValue(key, metric, _number(path, line, column, fields[column]), line))
    if not values:
        raise BadInput(f"{path}: no values; expected rows below the header")
    return Reference(path, format_, tuple(values))


def without_run(reference: Reference, measured: Measured) -> list[ReferenceValue]:
    """The reference values for which dumbbell has no run."""
    return [item for item in reference.values if (item.key, item.metric) not in measured]


def why_missing(reference: Reference, item: ReferenceValue, measured: Measured) -> str:
    """Return the reason why there is no run for a value, in one line: the first key column whose value no run has, and the values that runs
    have."""
    format_ = reference.format
    cells = [key for key, metric in measured if metric == item.metric]
    for index, column in enumerate(format_.keys):
        there = list(dict.fromkeys(key[index] for key in cells))
        if item.key[index] not in there:
            before = ", ".join(f"{name} {_plain(value)}" for name, value in zip(format_.keys[:index], item.key[:index], strict=True))
            choice = ", ".join(map(_plain, there)) or f"a study whose runs have {item.metric}"
            return (
                f"{reference.path}:{item.line}: column {column}: no run with {_plain(item.key[index])}"
                f"{f' where {before}' if before else ''}; expected {'one of ' if len(there) > 1 else ''}{choice}"
            )
        cells = [key for key in cells if key[index] == item.key[index]]
    raise ValueError(f"line {item.line} has a run")


def _plain(value: KeyValue) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _matches(header: Sequence[str], candidate: Format) -> bool:
    if candidate.long:
        return {*candidate.keys, "metric", "value"} <= set(header) <= set(candidate.columns)
    return set(candidate.keys) <= set(header) and any(metric in header for metric in candidate.metrics)


def _unknown_header(header: Sequence[str], known: Sequence[Format]) -> str:
    if not known:
        return "no format is known"
    if len(header) == 1 and (found := next((mark for mark in _OTHER_SEPARATORS if mark in header[0]), None)):
        return f"columns are separated by {_OTHER_SEPARATORS[found]}; expected commas"
    nearest = max(known, key=lambda candidate: len(set(candidate.columns) & set(header)))
    required = (*nearest.keys, "metric", "value") if nearest.long else nearest.keys
    if not set(required) & set(header) and len(known) > 1:
        names = ", ".join(candidate.name for candidate in known)
        return f"no column is known; expected the header of one of {names}; that of {nearest.name} is {','.join(nearest.columns)}"
    lacking = [column for column in required if column not in header]
    surplus = [column for column in header if column not in nearest.columns]
    what = "; ".join(
        part
        for part in (f"column {', '.join(lacking)} lacking" if lacking else "", f"column {', '.join(surplus)} unknown" if surplus else "")
        if part
    )
    return f"{what or 'unknown header'}; expected the header of {nearest.name}: {','.join(nearest.columns)}"


def _cells_of_row(path: Path, line: int, format_: Format, fields: dict[str, str]) -> list[tuple[str, str]]:
    """(metric, column of its value) of one row."""
    if not format_.long:
        return [(metric, metric) for metric in format_.metrics if metric in fields]
    metric = fields["metric"]
    if metric not in format_.metrics:
        raise BadInput(f"{path}:{line}: column metric: {metric!r} is unknown; expected one of {', '.join(format_.metrics)}")
    return [(metric, "value")]


def _key_value(path: Path, line: int, format_: Format, column: str, text: str) -> KeyValue:
    if column in format_.numbers:
        return _number(path, line, column, text)
    if not text:
        raise BadInput(f"{path}:{line}: column {column}: empty; expected a name")
    return text


def _number(path: Path, line: int, column: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadInput(f"{path}:{line}: column {column}: {text!r}; expected a number")
    return number
