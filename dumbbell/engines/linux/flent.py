"""Flent in a guest: where it is, and how another user than the one who runs dumbbell can run it.

A confined program is nobody's, and may read what every user may read. Flent that a distribution's package has installed is such. Flent
next to dumbbell, in a virtual environment, runs with the system's Python of the same version if its folder may be read.
"""

from __future__ import annotations

import hashlib
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

NAME = "flent"
_PYTHON = "/usr/bin/python3"
_START = "from flent import run_flent; run_flent()"


@dataclass(frozen=True)
class Installed:
    """Flent on this machine."""

    words: tuple[str, ...]
    """The words that stand for its name in a command."""
    environment: tuple[tuple[str, str], ...]
    program: str
    """The program that runs: Flent's own, or Python."""
    package: str
    """SHA-256 of Flent's modules; empty if they are not known."""


@lru_cache(maxsize=1)
def installed(search: str) -> Installed | None:
    """Flent as every user can run it; None if there is none. `search` has the folders of programs."""
    if (found := shutil.which(NAME, path=search)) is not None:
        return Installed((found,), (), found, _hash(Path("/usr/lib/python3/dist-packages/flent")))
    spec = find_spec(NAME)
    if spec is None or spec.origin is None or _version() != tuple(sys.version_info[:2]):
        return None
    package = Path(spec.origin).resolve().parent
    if not all(folder.stat().st_mode & stat.S_IXOTH for folder in package.parents):
        return None
    return Installed((_PYTHON, "-c", _START), (("PYTHONPATH", str(package.parent)),), _PYTHON, _hash(package))


def _hash(package: Path) -> str:
    files = sorted(package.rglob("*.py")) + sorted(package.rglob("*.conf")) if package.is_dir() else []
    listed = "".join(f"{file.relative_to(package)} {hashlib.sha256(file.read_bytes()).hexdigest()}\n" for file in files)
    return hashlib.sha256(listed.encode()).hexdigest() if files else ""


def _version() -> tuple[int, ...]:
    """The version of the system's Python, such as (3, 11); empty if there is none."""
    show = "import sys; print(*sys.version_info[:2])"
    try:
        said = subprocess.run([_PYTHON, "-I", "-c", show], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False).stdout
        return tuple(map(int, said.split()))
    except (OSError, ValueError):
        return ()
