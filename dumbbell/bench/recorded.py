"""The recorded instructions per packet, which are under version control, and detecting their growth."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from dumbbell.errors import BadInput
from dumbbell.escaping import csv_text
from dumbbell.files import write_text

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "instructions.csv"
"""The file in a checkout of the repository; an installed package has none."""
GROWTH = 0.05
"""Relative growth above which a benchmark counts as a regression."""


@dataclass(frozen=True)
class Recorded:
    """A line of the file."""

    benchmark: str
    instructions_per_packet: float
    rustc: str
    valgrind: str
    date: str
    """YYYY-MM-DD."""


_COLUMNS = [field.name for field in fields(Recorded)]


def read(path: Path = FILE) -> dict[str, Recorded]:
    """Benchmark -> recorded value; empty without a file. Raises `BadInput` if the file has other columns or a value is not a number."""
    if not path.exists():
        return {}
    rows = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    if rows.fieldnames != _COLUMNS:
        raise BadInput(f"{path}: the columns are {rows.fieldnames}; expected {', '.join(_COLUMNS)}")
    found = {}
    for row in rows:
        try:
            value = float(row["instructions_per_packet"])
        except (TypeError, ValueError):
            raise BadInput(f"{path}:{rows.line_num}: {row['instructions_per_packet']!r} is no number of instructions") from None
        found[row["benchmark"]] = Recorded(row["benchmark"], value, row["rustc"], row["valgrind"], row["date"])
    return found


def write(values: Iterable[Recorded], path: Path = FILE) -> None:
    """Writes the file, replacing all values."""
    write_text(path, csv_text([_COLUMNS, *([str(field) for field in astuple(value)] for value in values)]))


def grown(before: Mapping[str, Recorded], now: Iterable[Recorded]) -> list[str]:
    """The benchmarks that grew by more than `GROWTH`, one line each."""
    lines = []
    for value in now:
        old = before.get(value.benchmark)
        if old is not None and value.instructions_per_packet > old.instructions_per_packet * (1 + GROWTH):
            growth = value.instructions_per_packet / old.instructions_per_packet - 1
            lines.append(
                f"{value.benchmark}: {value.instructions_per_packet:.0f} instructions per packet, {100 * growth:.1f} % more than the "
                f"{old.instructions_per_packet:.0f} recorded on {old.date} (rustc {old.rustc}); at most {100 * GROWTH:.0f} % is allowed"
            )
    return lines
