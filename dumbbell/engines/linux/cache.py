"""Folder of built kernels and programs: $XDG_CACHE_HOME/dumbbell/kernel, or ~/.cache/dumbbell/kernel."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from dumbbell.files import cache_folder

HASH_LENGTH = 20
"""Length of a key, hexadecimal digits."""


def folder() -> Path:
    """The folder, which may not exist yet. Raises `EnvironmentFault` if neither XDG_CACHE_HOME nor a home directory is known."""
    return cache_folder("the kernel") / "kernel"


def digest(parts: Iterable[bytes]) -> str:
    """A key of these parts in this order."""
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()[:HASH_LENGTH]


def digest_of_files(paths: Iterable[Path]) -> str:
    """A key of the names and contents of files, independent of their order."""
    return digest(part for path in sorted(paths) for part in (path.name.encode(), path.read_bytes()))
