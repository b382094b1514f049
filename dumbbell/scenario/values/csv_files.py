"""Numbers in CSV files that a scenario names: a first line with the unit of each column, then rows; `#` begins a comment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationInfo

from dumbbell.documents.problems import Unfit
from dumbbell.documents.source import FOLDER
from dumbbell.errors import shortened
from dumbbell.files import read_regular
from dumbbell.scenario.units import Quantity

_MOST_BYTES = 64 << 20
_MOST_ROWS = 1_000_000


def located(name: str, info: ValidationInfo) -> Path:
    """The file that a scenario calls `name`: relative to the scenario's own file."""
    return Path((info.context or {}).get(FOLDER) or ".") / name


def read_columns(path: Path, kinds: Sequence[type[Quantity] | None], least: int | None = None) -> list[list[Any]]:
    """The rows of a CSV file: quantities of the `kinds` in the units of the first line, and plain numbers where a kind is None, whose
    column is headed `share`.

    At least `least` columns are there, by default all. Raises `Unfit` with the file's name and the line.
    """
    try:
        text = read_regular(path, _MOST_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or ("it is not text in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error))
        raise Unfit(f"cannot read {path}: {reason}", "a CSV file, relative to the scenario's file") from None
    lines = ((number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), 1))
    rows = [(number, [cell.strip() for cell in line.split(",")]) for number, line in lines if line]
    wanted = " ".join(f"{kind.__name__.lower()} ({', '.join(kind.UNITS)})" if kind else "share" for kind in kinds)
    if not rows:
        raise Unfit(f"{path} is empty", f"a first line with units of {wanted}, then numbers")
    (line, units), *rest = rows
    if not (least or len(kinds)) <= len(units) <= len(kinds) or any(
        unit not in (kind.UNITS if kind else ("share",)) for unit, kind in zip(units, kinds, strict=False)
    ):
        raise Unfit(f"{path}:{line}: {shortened(','.join(units), 60)!r} is no line of units", f"units of {wanted}, with commas between")
    if len(rest) > _MOST_ROWS:
        raise Unfit(f"{path} has {len(rest)} rows", f"at most {_MOST_ROWS}")
    return [_row(f"{path}:{number}", cells, units, kinds) for number, cells in rest]


def _row(place: str, cells: Sequence[str], units: Sequence[str], kinds: Sequence[type[Quantity] | None]) -> list[Any]:
    if len(cells) != len(units):
        raise Unfit(f"{place}: {len(cells)} numbers", f"{len(units)}, as in the first line")
    try:
        return [kind.parse(cell + unit) if kind else float(cell) for cell, unit, kind in zip(cells, units, kinds, strict=False)]
    except Unfit as error:
        raise Unfit(f"{place}: {error.what}", error.expected) from None
    except ValueError:
        raise Unfit(f"{place}: {shortened(','.join(cells), 60)!r} are not all numbers", "numbers") from None
