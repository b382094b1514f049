"""Problems of a document: each with its place and the expected value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dumbbell.errors import BadInput, shortened

Location = tuple[str | int, ...]
"""Keys and list indices from the top of a document."""
_MOST_LINES = 100
"""Problems that are printed one by one."""
_MOST_CHARACTERS = 2000
"""Maximum length of what is wrong, and of what was expected."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong."""

    key: str
    """Dotted key."""
    what: str
    """The error."""
    expected: str
    """A value that would be right."""
    file: str | None = None
    """The file with the error; None for settings made in Python."""
    line: int | None = None
    """Line of `file`, from 1."""
    excerpt: tuple[str, ...] = ()
    """Lines to show below: the written text, and a mark where it goes wrong."""

    def __str__(self) -> str:
        place = "" if self.file is None else f"{self.file}:" if self.line is None else f"{self.file}:{self.line}:"
        key = f"{shortened(self.key)}:" if self.key else ""
        what, expected = (shortened(text, _MOST_CHARACTERS) for text in (self.what, self.expected))
        return " ".join(part for part in (place, key, f"{what}; expected {expected}") if part)


class Unfit(ValueError):
    """A value that is not valid where it is given."""

    def __init__(self, what: str, expected: str) -> None:
        super().__init__(f"{what}; expected {expected}")
        self.what, self.expected = what, expected


class ScenarioError(BadInput):
    """A document that cannot be used: a scenario that cannot be run, or a hosts file or a file of jobs with problems."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        problems = list(dict.fromkeys(problems))
        more = len(problems) - _MOST_LINES
        lines = [line for problem in problems[:_MOST_LINES] for line in (str(problem), *problem.excerpt)]
        super().__init__(*lines, *([f"and {more} more problem{'s' if more > 1 else ''}"] if more > 0 else []))
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[tuple[Problem, ...]]]:
        """For pickle: it may be raised in one process and reported by another."""
        return type(self), (self.problems,)


def dotted(location: Iterable[str | int]) -> str:
    """`("flows", 0, "cc")` as `flows.0.cc`."""
    return ".".join(str(part) for part in location)
