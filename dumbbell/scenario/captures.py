"""Points at which the packets of a run are captured."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from dumbbell.documents.problems import Unfit

HOSTS = "hosts"
"""The hosts, in a list of points."""


def _points(value: object) -> object:
    if isinstance(value, bool) or (isinstance(value, list) and value and all(isinstance(each, str) for each in value)):
        return value
    shown = repr(value) if isinstance(value, str) else "this"
    raise Unfit(f"{shown} is no place to capture at", f"true (the hosts), false, or a list of {HOSTS} and ports")


Points = Annotated[bool | list[str], BeforeValidator(_points)]
"""At the hosts (`true`), nowhere, or where a list says: `hosts`, and ports by the names that they have in results."""


def at_hosts(points: bool | list[str]) -> bool:
    """True if the hosts are among the points."""
    return HOSTS in points if isinstance(points, list) else points


def at_ports(points: bool | list[str]) -> list[tuple[int, str]]:
    """The ports among them, each with its place in the list."""
    return [(i, name) for i, name in enumerate(points) if name != HOSTS] if isinstance(points, list) else []
