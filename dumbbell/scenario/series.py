"""Entities of a run that get series."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from dumbbell.documents.model import Model
from dumbbell.documents.problems import Unfit

ALL, NONE = "all", "none"


def _chosen(value: object) -> object:
    if value in (ALL, NONE) or (isinstance(value, list) and all(isinstance(each, str) for each in value)):
        return value
    shown = repr(value) if isinstance(value, str) else "this"
    raise Unfit(f"{shown} chooses nothing", f"{ALL}, {NONE} or a list of names")


Choice = Annotated[str | list[str], BeforeValidator(_chosen)]
"""All that there are of a kind, none, or some by name."""


class Series(Model):
    """Entities that get series, one sample every `sample:`. The totals of a run (the tables of flows and ports) do not depend on it."""

    flows: Choice = ALL
    """Entries of `flows:`, by name (or cc, where they have none): each of their flows."""
    groups: Choice = NONE
    """Entries of `flows:`, and those of `background:` whose connections come and go: their connections together."""
    ports: Choice = ALL
    """Ports by the names that they have in results, such as `bottleneck-reverse`."""
    shares: Choice = NONE
    """Ports that count the bytes of each of these flows and groups."""
