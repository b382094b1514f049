"""Running a cell until a metric is known well enough: the keys that a user writes. `dumbbell.running.until` does it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dumbbell.documents.model import Model
from dumbbell.documents.problems import Unfit
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
