"""Problems of a scenario: what is wrong, where it is written, what was expected."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dumbbell.errors import BadInput, shortened

Location = tuple[str | int, ...]
"""Keys and list indices from the top of a scenario."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong."""

    key: str
    """Dotted key."""
    what: str
    """What is wrong."""
    expected: str
    """What would be right."""
    file: str | None = None
    """Where it is written; none for a scenario made in Python."""
    line: int | None = None
    """Line of `file`, from 1."""

    def __str__(self) -> str:
        place = "" if self.file is None else f"{self.file}:" if self.line is None else f"{self.file}:{self.line}:"
        key = f"{shortened(self.key)}:" if self.key else ""
        return " ".join(part for part in (place, key, f"{self.what}; expected {self.expected}") if part)


class Unfit(ValueError):
    """A value that is not valid where it is given."""

    def __init__(self, what: str, expected: str) -> None:
        super().__init__(f"{what}; expected {expected}")
        self.what, self.expected = what, expected


class ScenarioError(BadInput):
    """A scenario that cannot be run."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(*map(str, problems))
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[tuple[Problem, ...]]]:
        """For pickle: it may be raised in one process and reported by another."""
        return type(self), (self.problems,)


def dotted(location: Iterable[str | int]) -> str:
    """`("flows", 0, "cc")` as `flows.0.cc`."""
    return ".".join(str(part) for part in location)


def nearest(name: object, known: Iterable[str]) -> str:
    """A hint ` (did you mean 'cubic'?)` if one of the known names is close to `name`, else nothing."""
    close = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""


def one_of(known: Iterable[str]) -> str:
    """`one of a, b, c`."""
    return "one of " + ", ".join(known)
