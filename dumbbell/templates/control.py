"""Projects of congestion controls of one's own: a library in C or Rust, or a BPF program, the
interface that it is compiled with, a scenario and a test."""

from __future__ import annotations

from pathlib import Path

from dumbbell.errors import BadInput
from dumbbell.templates import project

_BOTH = {"cc/both/scenario.yaml": "@NAME@.yaml", "cc/both/test.py": "test.py", "cc/both/README.md": "README.md"}
_FILES = {
    "c": {"cc/c/control.c": "@NAME@.c", "cc/dumbbell_cc.h": "dumbbell_cc.h", "cc/c/Makefile": "Makefile", **_BOTH},
    "rust": {
        "cc/rust/lib.rs": "src/lib.rs",
        "cc/dumbbell_cc.rs": "src/dumbbell_cc.rs",
        "cc/rust/Cargo.toml": "Cargo.toml",
        "cc/rust/Makefile": "Makefile",
        **_BOTH,
    },
    "bpf": {
        "cc/bpf/control.bpf.c": "@NAME@.bpf.c",
        "cc/bpf/control.h": "control.h",
        "cc/bpf/Makefile": "Makefile",
        "cc/bpf/scenario.yaml": "@NAME@.yaml",
        "cc/bpf/test.py": "test.py",
        "cc/bpf/README.md": "README.md",
    },
}
"""By language: the file here, and its name in the project."""
LANGUAGES = tuple(_FILES)
_MOST_IN_KERNEL = 15
"""The kernel's names of congestion controls have at most so many characters (TCP_CA_NAME_MAX)."""


def write(name: str, language: str) -> list[Path]:
    """Writes the project of the congestion control `name` into a new folder of that name, and returns its files.

    Raises `BadInput` for a name that is no file's and no crate's, for a language that there is none in, and if the folder exists.
    """
    project.check_name(name, "congestion control")
    if language not in _FILES:
        raise BadInput(f"--language {language!r} is unknown; expected one of {', '.join(LANGUAGES)}")
    if language == "bpf" and len(name) > _MOST_IN_KERNEL:
        raise BadInput(f"{name!r} is no name of a congestion control in the kernel; expected at most {_MOST_IN_KERNEL} characters")
    return project.write(name, _FILES[language])
