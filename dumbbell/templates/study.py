"""Projects of published studies: a package that registers one, with its numbers."""

from __future__ import annotations

from pathlib import Path

from dumbbell.errors import BadInput
from dumbbell.templates import project

_FILES = {
    "studies/pyproject.toml": "pyproject.toml",
    "studies/README.md": "README.md",
    "studies/study.py": "@NAME@_study/__init__.py",
    "studies/published.csv": "@NAME@_study/published.csv",
}
"""The file here, and what it is called in the project."""


def write(name: str) -> list[Path]:
    """Writes the project of the study `name` into a new folder of that name, and returns its files.

    Raises `BadInput` for a name that is no module's or an installed study's, and if the folder exists.
    """
    from dumbbell.study import study_names

    project.check_name(name, "study")
    if name in study_names():
        raise BadInput(f"{name}: is an existing study; expected another name")
    return project.write(name, _FILES)
