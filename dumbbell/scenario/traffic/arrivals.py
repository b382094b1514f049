"""Times at which connections come."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, model_validator
from pydantic.json_schema import SkipJsonSchema

from dumbbell.documents.problems import Unfit
from dumbbell.scenario.base import Kinded
from dumbbell.scenario.units import Duration, Size
from dumbbell.scenario.values.csv_files import located, read_columns

_MOST_LISTED = 1_000_000
"""Connections of a list or a trace."""
_MOST_LOAD = 10
_KEYS = {"regular": ("every", "load"), "poisson": ("every", "load"), "given": ("at",), "trace": ("file",)}
"""Kind of arrivals -> the keys of which it has one."""

Row = tuple[Duration, Size, Duration | None]
"""Row of a trace: time, size and, if the file has one, RTT."""


class Arrivals(Kinded):
    """Times at which connections are made."""

    kind: Literal["regular", "poisson", "given", "trace"]
    """`regular`: one every `every`. `poisson`: a Poisson process. `given`: the times in `at`. `trace`: times and sizes in `file`."""
    every: Duration | None = None
    """Time from one arrival to the next; the mean for a Poisson process."""
    load: Annotated[float, Field(gt=0, le=_MOST_LOAD, strict=False)] | None = None
    """Instead of `every`: the rate of arriving payload, as a share of the rate of the first shaped queue in its direction."""
    at: Annotated[list[Duration], Field(min_length=1, max_length=_MOST_LISTED)] | None = None
    """Times of given arrivals, from `start` on."""
    file: str | None = None
    """CSV file of a trace. Each line has a time (from `start` on), a size and, if there is a third column, an RTT. The first line has
    their units."""
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
