"""What all models of a scenario have in common."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from dumbbell.scenario.invalid import explain
from dumbbell.scenario.problems import ScenarioError
from dumbbell.scenario.source import Source


class Model(BaseModel):
    """Unknown keys are errors; an object does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    def __init__(self, /, **settings: Any) -> None:
        """Raises `ScenarioError` with one line for each setting that is wrong."""
        try:
            super().__init__(**settings)
        except ValidationError as error:
            given = Source(None, settings)
            raise ScenarioError([given.problem(*wrong) for wrong in explain(error, type(self))]) from None

    # Without this mark, as RootModel has it, pydantic would call __init__ for what is nested, and lose where that is.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


LONG = "long"
"""Context in which what may be written as a bare name is written with its key all the same, so that a sweep can add others."""


class Kinded(Model):
    """One of several, told apart by its key `kind`."""

    def model_post_init(self, _context: Any, /) -> None:
        """Counts `kind` as given: what is written of an object made in Python must name it."""
        self.model_fields_set.add("kind")


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$", max_length=100)]
"""A name that can stand in a file name and in an entity `flow/NAME`."""
