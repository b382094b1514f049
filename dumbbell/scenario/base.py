"""Parts that all models of a scenario share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import StringConstraints

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


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$", max_length=100)]
"""A name that can stand in a file name and in an entity `flow/NAME`."""
