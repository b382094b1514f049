"""Parts that all models of a scenario share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, StringConstraints, WithJsonSchema

from dumbbell.catalogue import Parameter, entries
from dumbbell.documents.model import Model

LONG = "long"
"""Serialisation context: a setting that may be a bare name is written as a mapping, so that a sweep can add keys to it."""

CONTENT = "content"
"""Context of a dump with all that a run depends on. It leaves out where files lie."""


class Kinded(Model):
    """One of several, told apart by its key `kind`."""

    def model_post_init(self, _context: Any, /) -> None:
        """Marks `kind` as set, so that an object made in Python is written with it."""
        self.model_fields_set.add("kind")


@cache
def parameters(model: type[Model]) -> Mapping[str, Parameter]:
    """Return the keys of a model that the catalogue has, by name."""
    named = [vars(base)["catalogued"] for base in reversed(model.__mro__) if "catalogued" in vars(base)]
    return {each.name: each for group, name in named for each in entries(group)[name].parameters}


class Fault(Model):
    """A fault of a link, or the way in which it is drawn."""


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$", max_length=100)]
"""A name that can stand in a file name and in an entity `flow/NAME`."""


def _engine(written: Any) -> Any:
    """An engine and the one of its builds as a name: `{kernel: 7.3}` is kernel:7.3. The version that YAML takes for a number is none."""
    if isinstance(written, dict) and len(written) == 1:
        ((family, build),) = written.items()
        if isinstance(build, str | int | float) and not isinstance(build, bool):
            return f"{family}:{build}"
    return written


_ENGINE = r"^[A-Za-z0-9][A-Za-z0-9._+-]*(:[A-Za-z0-9][A-Za-z0-9._+-]*)?$"
EngineName = Annotated[
    str,
    StringConstraints(pattern=_ENGINE, max_length=200),
    BeforeValidator(_engine),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": _ENGINE, "maxLength": 200},
                {
                    "type": "object",
                    "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "number"}]},
                    "minProperties": 1,
                    "maxProperties": 1,
                },
            ]
        }
    ),
]
"""An engine, or one of the builds of an engine: `kernel`, `kernel:7.3` or `{kernel: 7.3}`."""
