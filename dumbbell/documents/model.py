"""The base class of what documents describe, and how a document is validated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema

from dumbbell.documents.invalid import explain
from dumbbell.documents.problems import ScenarioError
from dumbbell.documents.source import Source

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


_Read = TypeVar("_Read", bound=Model)


def validated(kind: type[_Read], data: Any, origin: Source) -> _Read:
    """Return the contents of a document as a model. Raises `ScenarioError` with the file, line and key of every problem."""
    try:
        return kind.model_validate(data, context=origin.context)
    except ValidationError as error:
        raise ScenarioError([origin.problem(*wrong) for wrong in explain(error, kind)]) from None


_SWITCHES = {"on": True, "off": False}


def _switched(written: Any) -> Any:
    return _SWITCHES.get(written, written) if isinstance(written, str) else written


Flag = Annotated[bool, BeforeValidator(_switched), WithJsonSchema({"enum": [True, False, *_SWITCHES]})]
"""`true` or `false`, or `on` or `off`, which YAML 1.2 reads as words."""
