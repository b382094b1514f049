"""Texts of models for `help()` and for what editors show: each field with its values, its default and its meaning."""

from __future__ import annotations

import inspect
from enum import Enum
from keyword import iskeyword
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dumbbell.scenario.schema import meanings, written
from dumbbell.scenario.units import Limit, Quantity, Share

_WORDS: dict[Any, str] = {bool: "True or False", int: "a whole number", float: "a number", str: "text", Any: "any value", dict: "a mapping"}
_MOST = 100
"""Characters of a line."""


def describe(model: type[BaseModel]) -> None:
    """Let `help()` of a model show its fields, and a signature that a reader can take in."""
    if "__plain_doc__" in vars(model):
        return
    plain = model.__doc__ or ""
    lines = [line for name, field in model.model_fields.items() for line in _lines(model, field.alias or name, field)]
    model.__plain_doc__ = plain  # type: ignore[attr-defined]
    model.__doc__ = "\n".join([inspect.cleandoc(plain), *(["", "Fields:", *lines] if lines else [])])
    parameters = [
        inspect.Parameter(
            field.alias or name, inspect.Parameter.KEYWORD_ONLY, default=inspect.Parameter.empty if field.is_required() else _short(field)
        )
        for name, field in model.model_fields.items()
        if not iskeyword(field.alias or name)
    ]
    model.__signature__ = inspect.Signature(parameters)


def _lines(model: type[BaseModel], name: str, field: FieldInfo) -> list[str]:
    default = "required" if field.is_required() else f"by default {_written(field)}"
    key = next(key for key, each in model.model_fields.items() if each is field)
    words = f"{name}: {_values(field.annotation, field)}; {default}. {meanings(model).get(key, '')}".rstrip().split()
    found, line = [], "   "
    for word in words:
        if len(line) + 1 + len(word) > _MOST:
            found.append(line)
            line = "       "
        line += f" {word}"
    return [*found, line]


def _default(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True, validated_data={})


def _short(field: FieldInfo) -> Any:
    """Return a default for a signature, in which the fields of a nested model would take a line each."""
    value = _default(field)
    return ... if isinstance(value, BaseModel | Quantity | Limit | Share) or (isinstance(value, dict | list) and value) else value


def _written(field: FieldInfo) -> str:
    value = _default(field)
    shown = written(value)
    return "none" if value is None else repr(shown) if isinstance(shown, str) else str(shown)


def _values(annotation: Any, field: FieldInfo | None = None) -> str:
    """Return the values of a type in words."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _values(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_values(each) for each in get_args(annotation) if each is not type(None)))
    if origin is Literal:
        return ", ".join(repr(each) for each in get_args(annotation))
    if origin in (list, tuple):
        return f"a list of {_values(next((each for each in get_args(annotation) if each is not ...), Any))}"
    if origin is dict:
        return f"a mapping of names to {_values(get_args(annotation)[1])}"
    bounds = "" if field is None else _bounds(field)
    if isinstance(annotation, type):
        if issubclass(annotation, Enum):
            return ", ".join(repr(each.value) for each in annotation)
        if issubclass(annotation, Quantity | Limit | Share):
            return annotation.EXPECTED
        return _WORDS.get(annotation, annotation.__name__) + bounds
    return _WORDS.get(annotation, "a value")


def _bounds(field: FieldInfo) -> str:
    """Return the bounds of a number in words."""
    at = {
        name: getattr(each, name) for each in field.metadata for name in ("ge", "gt", "le", "lt") if getattr(each, name, None) is not None
    }
    low = f" from {at['ge']}" if "ge" in at else f" above {at['gt']}" if "gt" in at else ""
    high = f" to {at['le']}" if "le" in at else f" below {at['lt']}" if "lt" in at else ""
    return low + high
