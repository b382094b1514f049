"""Names and coordinates as a record may have them: they are shown to people, and put into file names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TypeGuard

_KEY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")


class NotOurs(ValueError):
    """A record has a name or a number that no version of dumbbell writes: damage, where something unknown may be of a later version."""


LONGEST_NAME = 200
"""Maximum length. Scenarios allow 100 characters; dumbbell appends a number."""
MOST_INTEGER = 2**63 - 1
"""Maximum of the integers of a record."""
_LONGEST_COORDINATE = 4096


def is_name(value: object) -> TypeGuard[str]:
    """True if something can be the name of a flow, a port, a run or a key: text of one line, without control characters."""
    return isinstance(value, str) and len(value) <= LONGEST_NAME and value.isprintable()


def are_names(values: Iterable[object]) -> bool:
    """True if all of several are names; faster than to ask each."""
    listed = list(values)
    try:
        return "".join(listed).isprintable() and max(map(len, listed), default=0) <= LONGEST_NAME  # type: ignore[arg-type]
    except TypeError:
        return False


def is_key(value: object) -> bool:
    """True if something can be the key of a run, and so a folder in a store: a list of runs that somebody else wrote may say anything."""
    return isinstance(value, str) and _KEY.fullmatch(value) is not None


def is_cell(value: object) -> bool:
    """True if something can be the coordinates of a run."""
    return isinstance(value, dict) and all(map(is_name, value)) and all(map(_is_coordinate, value.values()))


def _is_coordinate(value: object) -> bool:
    if type(value) is str:
        return len(value) <= _LONGEST_COORDINATE and value.isprintable()
    return (type(value) is int and abs(value) < 2**64) or (type(value) is float and math.isfinite(value))
