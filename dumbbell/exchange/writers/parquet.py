"""Parquet: `key`, `t_ns`, `entity`, `series`, `value`, a row a sample. The units are in the metadata of the fields, as JSON by series for
`value`.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from dumbbell.exchange.exported import Exported
from dumbbell.results.series import arrow_schema

if TYPE_CHECKING:
    from dumbbell.results import Run


def write(run: Run, base: str) -> Exported:
    """The series of a run."""
    import polars as pl

    rows = run.frame.select(pl.lit(run.key).alias("key"), "t_ns", "entity", "series", "value")
    buffer = io.BytesIO()
    rows.write_parquet(buffer, compression="zstd", arrow_schema=arrow_schema(rows["series"].unique(maintain_order=True), ("key",)))
    return Exported({f"{base}.parquet": buffer.getvalue()})
