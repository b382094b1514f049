"""Ready-made tests by the names that people know, most of them from Flent: scenario files to run, print or sweep."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent


@cache
def names() -> tuple[str, ...]:
    """The names, in order."""
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.yaml")))


def file(name: str) -> Path:
    """The scenario file of a template."""
    return _FOLDER / f"{name}.yaml"


def summary(name: str) -> str:
    """Return a line about it: the first comment of the file."""
    with file(name).open(encoding="utf-8") as lines:
        return next(lines).removeprefix("#").strip().rstrip(".")
