"""Times at which connections come."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, ValidationInfo, model_validator
from pydantic.json_schema import SkipJsonSchema

from dumbbell.documents.problems import Unfit
from dumbbell.scenario.generated import workloads
from dumbbell.scenario.units import Duration, Size
from dumbbell.scenario.values.csv_files import located, read_columns

_MOST_LISTED = 1_000_000
"""Connections of a list or a trace."""
_KEYS = {"regular": ("every", "load"), "poisson": ("every", "load"), "given": ("at",), "trace": ("file",)}
"""Kind of arrivals -> the keys of which it has one."""

Row = tuple[Duration, Size, Duration | None]
"""Row of a trace: time, size and, if the file has one, RTT."""


class Arrivals(workloads.Arrivals):
    __doc__ = workloads.Arrivals.__doc__

    rows: SkipJsonSchema[Annotated[list[Row], Field(min_length=1, max_length=_MOST_LISTED)] | None] = None
    """Content of the file, once it is read."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, written: Any, info: ValidationInfo) -> Any:
        if not isinstance(written, dict) or written.get("kind") != "trace" or not isinstance(written.get("file"), str):
            return written
        rows = written.get("rows")
        if rows is None:
            rows = [(*row, None)[:3] for row in read_columns(located(written["file"], info), [Duration, Size, Duration], least=2)]
        return {**written, "rows": [tuple(row) if isinstance(row, list) else row for row in rows] if isinstance(rows, list) else rows}

    @model_validator(mode="after")
    def _sound(self) -> Self:
        wanted = _KEYS[self.kind]
        found = [key for key in ("every", "load", "at", "file") if getattr(self, key) is not None]
        if len(found) != 1 or found[0] not in wanted:
            what = f"{self.kind} arrivals have {' and '.join(found) or f'no {wanted[0]}'}"
            raise Unfit(what, " or ".join(wanted))
        if self.rows is not None and self.kind != "trace":
            raise Unfit(f"{self.kind} arrivals have rows", " or ".join(wanted))
        return self

    @property
    def times(self) -> list[Duration] | None:
        """Return the given times, or None if they are not given."""
        return self.at if self.rows is None else [row[0] for row in self.rows]
