"""Sweeps: the settings that vary with their values, and the cells that this makes. Also the rule that ends the runs of a cell (`until`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, model_serializer, model_validator
from pydantic_core import CoreSchema

from dumbbell.documents.model import Model
from dumbbell.documents.problems import Unfit
from dumbbell.scenario.sample import Sample, Values
from dumbbell.scenario.values.amount import Amount


class Until(Model):
    """The rule that decides when a cell has enough runs."""

    metric: str
    """A column of `dumbbell table`, with its unit or without: `goodput`, `jain_index`, `completion_s`."""
    ci: Amount
    """Target: maximum of half the 95 % interval of the mean over the runs (Student's t). A share of the mean (`2%`), or a value in the unit
    of the column (`1ms`, `100kbit`, `10p`; a plain number if it has none)."""
    per: Literal["run", "group", "flow", "stream"] | None = None
    """Rows that the metric is taken of, as in `dumbbell table --statistic mean`. The interval of each row must be narrow enough. By default
    the whole run if it has such a column, else its groups, else its streams of datagrams."""
    least: Annotated[int, Field(ge=2, le=100_000)] = 5
    """Minimum number of runs of each cell, before the rule looks at them."""
    most: Annotated[int, Field(ge=2, le=100_000)] = 50
    """Maximum number of runs of a cell, if it does not reach the target."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.ci.value <= 0:
            raise Unfit(f"ci: {self.ci} is no width", "more than that")
        if self.most < self.least:
            raise Unfit(f"most: {self.most} is below least: {self.least}", f"at least {self.least}")
        return self


Table = Annotated[dict[str, Values], Field(min_length=1)]


class Sweep(BaseModel):
    """Values for dotted keys (`path.rtt`, `flows.0.cc`, `flows.*.cc`).

    Keys at the top form a grid; `zip` walks lists of equal length side by side; `cells` lists cells one by one;
    `sample` spreads cells over lists and ranges. Given together they are multiplied.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    grid: dict[str, Values] = {}
    """Every combination of the values of these keys; the same as these keys at the top."""
    zip: Table | None = None
    """The first values of all these keys together, then the second, and so on."""
    cells: Annotated[list[Annotated[dict[str, Any], Field(min_length=1)]], Field(min_length=1)] | None = None
    """Each entry is a cell with its settings."""
    sample: Sample | None = None
    """Cells spread over lists and ranges."""

    @model_validator(mode="before")
    @classmethod
    def _split(cls, written: Any) -> Any:
        if not isinstance(written, dict) or "grid" in written:
            return written
        words = {key: value for key, value in written.items() if key in ("zip", "cells", "sample")}
        return {**words, "grid": {key: value for key, value in written.items() if key not in words}}

    @model_serializer
    def _join(self) -> dict[str, Any]:
        words = {"zip": self.zip, "cells": self.cells, "sample": self.sample and self.sample.model_dump(mode="json", exclude_unset=True)}
        return {**self.grid, **{key: value for key, value in words.items() if value is not None}}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        mapping = handler(schema)
        return {**mapping, "additionalProperties": mapping["properties"]["grid"]["additionalProperties"]}

    @model_validator(mode="after")
    def _sound(self) -> Sweep:
        if not self.keys:
            raise Unfit("is empty", "a key with its values, such as path.rtt: [10ms, 20ms]")
        if self.zip and len({len(values) for values in self.zip.values()}) > 1:
            lengths = ", ".join(f"{key} {len(values)}" for key, values in self.zip.items())
            raise Unfit(f"zip: the lists differ in length ({lengths})", "equal lengths")
        for key, times in Counter(self.keys).items():
            if times > 1:
                raise Unfit(f"{key} is swept twice", "each key in one of grid, zip, cells and sample")
        if self.sample and (most := self.sample.most) is not None and self.sample.count > most:
            raise Unfit(f"sample: {self.sample.count} of {most} cells", f"a count of at most {most}")
        return self

    @property
    def keys(self) -> list[str]:
        """The dotted keys that are swept."""
        listed = dict.fromkeys(key for cell in self.cells or () for key in cell)
        return [*self.grid, *(self.zip or ()), *listed, *(self.sample.over if self.sample else ())]

    @property
    def count(self) -> int:
        """The number of cells. Nothing is drawn or listed for it."""
        lengths = [len(values) for values in self.grid.values()]
        lengths += [len(next(iter(self.zip.values())))] if self.zip else []
        lengths += [len(self.cells)] if self.cells else []
        lengths += [self.sample.count] if self.sample else []
        return math.prod(lengths)

    @cached_property
    def _factors(self) -> list[list[dict[str, Any]]]:
        """The lists of settings whose product the cells are."""
        factors: list[list[dict[str, Any]]] = [[{key: value} for value in values] for key, values in self.grid.items()]
        if self.zip:
            factors.append([dict(zip(self.zip, row, strict=True)) for row in zip(*self.zip.values(), strict=True)])
        if self.cells:
            factors.append(self.cells)
        if self.sample:
            factors.append(self.sample.cells())
        return factors

    def cell(self, index: int) -> dict[str, Any]:
        """The settings of one cell, dotted key to value as written; the first key changes slowest."""
        parts = []
        for factor in reversed(self._factors):
            index, position = divmod(index, len(factor))
            parts.append(factor[position])
        return {key: value for part in reversed(parts) for key, value in part.items()}

    def values(self, key: str) -> list[Any]:
        """The values that `key` is given one by one, as written."""
        over = self.sample.over.get(key) if self.sample else None
        listed = [*self.grid.get(key, ()), *(self.zip or {}).get(key, ()), *(over if isinstance(over, list) else ())]
        return [*listed, *(cell[key] for cell in self.cells or () if key in cell)]

    def places(self, key: str) -> Iterator[tuple[str | int, ...]]:
        """Yield the places in the sweep that give `key` values."""
        if key in self.grid:
            yield ("sweep", key)
        if self.zip and key in self.zip:
            yield ("sweep", "zip", key)
        for i, cell in enumerate(self.cells or ()):
            if key in cell:
                yield ("sweep", "cells", i, key)
        if self.sample and key in self.sample.over:
            yield ("sweep", "sample", "over", key)
