"""Projects of congestion controls of one's own: a library in C or Rust, the interface that it is compiled with, a scenario and a test."""

from __future__ import annotations

import re
from pathlib import Path

from dumbbell.errors import BadInput
from dumbbell.files import write_text

_FOLDER = Path(__file__).parent / "cc"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_BOTH = {"both/scenario.yaml": "@NAME@.yaml", "both/test.py": "test.py", "both/README.md": "README.md"}
_FILES = {
    "c": {"c/control.c": "@NAME@.c", "dumbbell_cc.h": "dumbbell_cc.h", "c/Makefile": "Makefile", **_BOTH},
    "rust": {
        "rust/lib.rs": "src/lib.rs",
        "dumbbell_cc.rs": "src/dumbbell_cc.rs",
        "rust/Cargo.toml": "Cargo.toml",
        "rust/Makefile": "Makefile",
        **_BOTH,
    },
}
"""By language: the file here, and what it is called in the project."""
LANGUAGES = tuple(_FILES)


def write(name: str, language: str) -> list[Path]:
    """Writes the project of the control `name` into a new folder of that name, and returns its files.

    Raises `BadInput` for a name that is no file's and no crate's, for a language that there is none in, and if the folder exists.
    """
    if not _NAME.fullmatch(name):
        raise BadInput(f"{name!r} is no name of a control; expected at most 40 small letters, digits and _ after a letter")
    if language not in _FILES:
        raise BadInput(f"--language {language!r} is unknown; expected one of {', '.join(LANGUAGES)}")
    folder = Path(name)
    if folder.exists() or folder.is_symlink():
        raise BadInput(f"{name}: there is one already; expected the name of a new folder")
    written = []
    for file, called in _FILES[language].items():
        path = folder / called.replace("@NAME@", name)
        write_text(path, (_FOLDER / file).read_text(encoding="utf-8").replace("@NAME@", name))
        written.append(path)
    return written
