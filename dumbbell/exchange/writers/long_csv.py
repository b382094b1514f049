"""Long CSV: `key,t_ns,entity,series,unit,value`, a row a sample; `dumbbell import` reads it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from dumbbell.exchange.exported import Exported
from dumbbell.results import schema

if TYPE_CHECKING:
    from dumbbell.results import Run


def write(run: Run, base: str) -> Exported:
    """The series of a run."""
    import polars as pl

    unit = pl.col("series").replace_strict(schema().units, default="", return_dtype=pl.String)
    rows = run.frame.select(pl.lit(run.key).alias("key"), "t_ns", "entity", "series", unit.alias("unit"), "value")
    buffer = io.BytesIO()
    rows.write_csv(buffer)
    return Exported({f"{base}.csv": buffer.getvalue()})
