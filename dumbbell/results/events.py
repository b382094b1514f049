"""The record of what happened to flows: in memory and as a Parquet file, an event a row, in order."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dumbbell.native import native
from dumbbell.results.schema import Quantity
from dumbbell.results.storage.checksums import StoredFile, damaged

if TYPE_CHECKING:
    import polars as pl

EVENTS = "events.parquet"


class Kind(NamedTuple):
    """A kind of events."""

    name: str
    meaning: str


@cache
def kinds() -> tuple[Kind, ...]:
    """The kinds of events."""
    return tuple(Kind(each["name"], each["meaning"]) for each in json.loads(native().schema())["events"]["kinds"])


@cache
def numbers() -> Mapping[str, Quantity]:
    """The numbers of an event by name, with units and meanings."""
    return {each["name"]: Quantity(**each) for each in json.loads(native().schema())["events"]["columns"]}


def columns() -> tuple[str, ...]:
    """The columns of the table, in order."""
    return ("t_ns", "flow", "kind", *numbers(), "reason")


def to_parquet(happened: Mapping[str, Any], flows: Sequence[str]) -> bytes:
    """The simulator's record as a file. `flows` are the names of all flows by their positions."""
    import polars as pl

    values = np.frombuffer(happened["values"], dtype="<f8").reshape(-1, len(numbers()))

    def words(names: Sequence[str], which: Any) -> pl.Series:
        listed = pl.Series(list(names), dtype=pl.String)
        return listed.gather(which) if len(which) else listed.head(0)

    table = {
        "t_ns": np.frombuffer(happened["t_ns"], dtype="<i8"),
        "flow": words(flows, np.frombuffer(happened["flow"], dtype="<u8")),
        "kind": words([each.name for each in kinds()], np.frombuffer(happened["kind"], dtype="u1").astype(np.uint32)),
        **{name: pl.Series(np.ascontiguousarray(values[:, i])).fill_nan(None) for i, name in enumerate(numbers())},
        "reason": words(happened["reasons"], np.frombuffer(happened["reason"], dtype="<u8")),
    }
    buffer = io.BytesIO()
    pl.DataFrame(table).write_parquet(buffer, compression="zstd", compression_level=1, statistics=False)
    return buffer.getvalue()


def frame(happened: bytes | StoredFile | None) -> pl.DataFrame:
    """The table of events; empty if there is no record. Raises `DamagedRun`."""
    import polars as pl

    from dumbbell.results.series import read_parquet

    text = {name: pl.String() for name in ("flow", "kind", "reason")}
    types = {name: text.get(name) or (pl.Int64() if name == "t_ns" else pl.Float64()) for name in columns()}
    if happened is None:
        return pl.DataFrame(schema=types)
    if isinstance(happened, bytes):
        return pl.read_parquet(happened)
    found = read_parquet(happened)
    if dict(found.schema) != types:
        raise damaged(happened.path, f"is no record of events; expected the columns {', '.join(types)}")
    return found
