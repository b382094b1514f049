"""The keys of scenario files as a JSON Schema, for editors: made from the models, their docstrings and the units."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from textwrap import dedent
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from dumbbell.documents.model import Model
from dumbbell.documents.source import parse
from dumbbell.scenario.base import parameters
from dumbbell.scenario.scenario import KIND, Scenario
from dumbbell.scenario.units import Limit, Quantity, Share

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema(names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the schema of a scenario file, draft 2020-12.

    It covers all errors that a key alone can have. `Scenario` finds contradictions between keys.

    Args:
        names: For the models `Cc` and `Stack` the names that engines know; others are allowed, because engines differ.
    """
    found = Scenario.model_json_schema(schema_generator=_Generator)
    for model, known in names.items():
        found["$defs"][model]["anyOf"][0]["examples"] = list(known)
    return {"$schema": _DIALECT, "title": "A scenario of dumbbell", **found}


@cache
def meanings(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the docstrings below the fields of a model, by the names of the fields; each in one line."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel and not base.__pydantic_generic_metadata__["origin"]:
            found |= _docstrings(base)
    return found


@cache
def _examples(model: type[BaseModel]) -> Mapping[str, Any]:
    """Return the examples that the catalogue has of the keys of a model."""
    listed = parameters(model) if issubclass(model, Model) else {}
    return {key: parse(f"{key}: {each.example}", "catalogue", KIND)[0][key] for key, each in listed.items() if each.example}


def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    (definition,) = ast.parse(dedent(inspect.getsource(model))).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for field, after in zip(definition.body, definition.body[1:], strict=False):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
            found[field.target.id] = " ".join(after.value.value.split())
    return found


class _Generator(GenerateJsonSchema):
    """Return the schema with the docstrings below fields, and defaults as they are written."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        made = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        if "__plain_doc__" in vars(model):  # `help()` shows more
            made.pop("description", None)
            if plain := vars(model)["__plain_doc__"]:
                made["description"] = inspect.cleandoc(plain)
        texts = meanings(model)
        for name, field in model.model_fields.items():
            key = field.alias or name
            if name in texts and key in made.get("properties", {}):
                made["properties"][key]["description"] = texts[name]
        for key, example in _examples(model).items():
            if key in made.get("properties", {}):
                made["properties"][key]["examples"] = [example]
        return made

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        """The keys themselves say it."""
        return False

    def encode_default(self, dft: Any) -> Any:
        """Return the default as a scenario file has it."""
        return written(dft)


def written(value: Any) -> Any:
    """A value of a setting as a scenario file has it."""
    if isinstance(value, Quantity | Limit | Share):
        return str(value)
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_defaults=True)
    return [written(each) for each in value] if isinstance(value, list | tuple) else value
