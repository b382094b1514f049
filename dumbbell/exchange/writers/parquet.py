"""Parquet: `key`, `t_ns`, `entity`, `series`, `value`, a row a sample. The units are in the metadata of the fields, as JSON by series for
`value`.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

from dumbbell.exchange.exported import Exported
from dumbbell.results import schema

if TYPE_CHECKING:
    from dumbbell.results import Run


def write(run: Run, base: str) -> Exported:
    """The series of a run."""
    import nanoarrow as na
    import polars as pl

    rows = run.frame.select(pl.lit(run.key).alias("key"), "t_ns", "entity", "series", "value")
    units = {name: schema().units[name] for name in rows["series"].unique(maintain_order=True)}
    fields = {
        "key": na.Schema(na.Type.LARGE_STRING),
        "t_ns": na.Schema(na.Type.INT64, metadata={"unit": "ns"}),
        "entity": na.Schema(na.Type.LARGE_STRING),
        "series": na.Schema(na.Type.LARGE_STRING),
        "value": na.Schema(na.Type.DOUBLE, metadata={"units": json.dumps(units)}),
    }
    buffer = io.BytesIO()
    rows.write_parquet(buffer, compression="zstd", arrow_schema=na.Schema(na.Type.STRUCT, fields=fields))
    return Exported({f"{base}.parquet": buffer.getvalue()})
