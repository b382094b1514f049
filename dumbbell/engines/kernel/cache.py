"""Where built kernels and programs are kept: $XDG_CACHE_HOME/dumbbell/kernel, or ~/.cache/dumbbell/kernel."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from dumbbell.errors import EnvironmentFault

HASH_LENGTH = 20
"""Hexadecimal digits of a key."""


def folder() -> Path:
    """The folder; it need not be there yet. Raises `EnvironmentFault` if the environment does not say where it is."""
    base, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
    if Path(base).is_absolute():
        return Path(base) / "dumbbell" / "kernel"
    if not Path(home).is_absolute():
        raise EnvironmentFault("no folder for the kernel: expected HOME or XDG_CACHE_HOME to hold an absolute path")
    return Path(home) / ".cache" / "dumbbell" / "kernel"


def digest(parts: Iterable[bytes]) -> str:
    """A key of parts whose order counts."""
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()[:HASH_LENGTH]


def digest_of_files(paths: Iterable[Path]) -> str:
    """A key of the names and contents of files, whatever their order."""
    return digest(part for path in sorted(paths) for part in (path.name.encode(), path.read_bytes()))
