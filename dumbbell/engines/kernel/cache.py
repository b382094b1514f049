"""Where built kernels and programs are kept: $XDG_CACHE_HOME/dumbbell/kernel, or ~/.cache/dumbbell/kernel."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from dumbbell.files import cache_folder

HASH_LENGTH = 20
"""Hexadecimal digits of a key."""


def folder() -> Path:
    """The folder; it need not be there yet. Raises `EnvironmentFault` if the environment does not say where it is."""
    return cache_folder("the kernel") / "kernel"


def digest(parts: Iterable[bytes]) -> str:
    """A key of parts whose order counts."""
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()[:HASH_LENGTH]


def digest_of_files(paths: Iterable[Path]) -> str:
    """A key of the names and contents of files, whatever their order."""
    return digest(part for path in sorted(paths) for part in (path.name.encode(), path.read_bytes()))
