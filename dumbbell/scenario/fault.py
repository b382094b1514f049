"""Base class of the faults that `faults` has."""

from __future__ import annotations

from functools import cache
from typing import ClassVar

from dumbbell.catalogue import Entry, entries
from dumbbell.documents.model import Model


class Fault(Model):
    """A fault of a link, or the way in which it is drawn."""

    named: ClassVar[str]
    """Its name in the catalogue."""

    @classmethod
    @cache
    def entry(cls) -> Entry:
        """Its entry of the catalogue."""
        return entries("fault")[cls.named]
