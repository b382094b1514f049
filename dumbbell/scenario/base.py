"""Parts that all models of a scenario share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints, ValidationError, WithJsonSchema

from dumbbell.scenario.invalid import explain
from dumbbell.scenario.problems import ScenarioError
from dumbbell.scenario.source import Source

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass

    class _Metaclass(ModelMetaclass):
        """It is not marked as `dataclass_transform`, unlike pydantic's: a type checker would reject `rtt="20ms"`, the usual way to write
        settings."""

else:
    _Metaclass = type(BaseModel)


class Model(BaseModel, metaclass=_Metaclass):
    """Base class of all settings: unknown keys are errors, and objects are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    def __init__(self, /, **settings: Any) -> None:
        """Raises `ScenarioError` with one line for each setting that is wrong."""
        try:
            super().__init__(**settings)
        except ValidationError as error:
            given = Source(None, settings)
            raise ScenarioError([given.problem(*wrong) for wrong in explain(error, type(self))]) from None

    # pydantic calls dumbbell's __init__ for nested models too, and errors lose their location, unless it has this mark (see RootModel).
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


_SWITCHES = {"on": True, "off": False}


def _switched(written: Any) -> Any:
    return _SWITCHES.get(written, written) if isinstance(written, str) else written


Flag = Annotated[bool, BeforeValidator(_switched), WithJsonSchema({"enum": [True, False, *_SWITCHES]})]
"""`true` or `false`, or `on` or `off`, which YAML 1.2 reads as words."""

LONG = "long"
"""Serialisation context: a setting that may be a bare name is written as a mapping, so that a sweep can add keys to it."""

CONTENT = "content"
"""Context of a dump with all that a run depends on. It leaves out where files lie."""


class Kinded(Model):
    """One of several, told apart by its key `kind`."""

    def model_post_init(self, _context: Any, /) -> None:
        """Marks `kind` as set, so that an object made in Python is written with it."""
        self.model_fields_set.add("kind")


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$", max_length=100)]
"""A name that can stand in a file name and in an entity `flow/NAME`."""
