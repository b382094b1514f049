"""Long CSV: `key,t_ns,entity,series,unit,value,cc,direction`, a row a sample; `dumbbell import` reads it.

Only flows and groups have the last two columns, because the series alone do not tell them. They are empty for other entities.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from dumbbell.escaping import csv_cell
from dumbbell.exchange.exported import Exported
from dumbbell.results import schema
from dumbbell.results.imported import UNKNOWN_CC

if TYPE_CHECKING:
    from dumbbell.results import Run


def write(run: Run, base: str) -> Exported:
    """The series of a run."""
    import polars as pl

    unit = pl.col("series").replace_strict(schema().units, default="", return_dtype=pl.String)
    known = run.summary.traits
    traits = {f"{kind}/{name}": each for kind, of in (("flow", "flows"), ("group", "groups")) for name, each in known[of].items()}
    ccs = {entity: "" if each.cc == UNKNOWN_CC else csv_cell(each.cc) for entity, each in traits.items()}
    names = {entity: csv_cell(entity) for entity in run.frame["entity"].unique()}
    ways = {entity: each.direction for entity, each in traits.items()}
    rows = run.frame.select(
        pl.lit(run.key).alias("key"),
        "t_ns",
        pl.col("entity").replace_strict(names, return_dtype=pl.String),
        "series",
        unit.alias("unit"),
        "value",
        *(
            pl.col("entity").replace_strict(of, default="", return_dtype=pl.String).alias(name)
            for name, of in (("cc", ccs), ("direction", ways))
        ),
    )
    buffer = io.BytesIO()
    rows.write_csv(buffer)
    return Exported({f"{base}.csv": buffer.getvalue()})
