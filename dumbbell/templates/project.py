"""Projects of one's own: files with another name in them, in a new folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from dumbbell.errors import BadInput
from dumbbell.files import write_text

_FOLDER = Path(__file__).parent
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_HERE = "@NAME@"
"""The word that stands for the name in files, and in what they are called."""


def check_name(name: str, what: str) -> None:
    """Raises `BadInput` for a name that is no file's, no crate's and no module's. `what`: what is called so."""
    if not _NAME.fullmatch(name):
        raise BadInput(f"{name!r} is no name of a {what}; expected at most 40 small letters, digits and _ after a letter")


def write(name: str, files: Mapping[str, str]) -> list[Path]:
    """Writes the files (a path here -> what it is called in the project) into a new folder of that name, and returns them.

    Raises `BadInput` if the folder exists.
    """
    folder = Path(name)
    if folder.exists() or folder.is_symlink():
        raise BadInput(f"{name}: there is one already; expected the name of a new folder")
    written = []
    for file, called in files.items():
        path = folder / called.replace(_HERE, name)
        write_text(path, (_FOLDER / file).read_text(encoding="utf-8").replace(_HERE, name))
        written.append(path)
    return written
