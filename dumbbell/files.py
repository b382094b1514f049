"""Writing what people read (tables and figures), and the folder of what is kept from one command to the next."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dumbbell.errors import BadInput, EnvironmentFault


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Makes the folder of `path`, and turns the disk's errors into one line: EnvironmentFault if it is full, else BadInput."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise EnvironmentFault(f"{path}: {error.strerror}") from None
        raise BadInput(f"{path}: cannot be written ({error.strerror}); expected a writable folder") from None


def write_text(path: Path, text: str) -> None:
    """Write a text file, and the folder it lies in."""
    with writing(path):
        path.write_text(text, encoding="utf-8")


def cache_folder(what: str) -> Path:
    """$XDG_CACHE_HOME/dumbbell or ~/.cache/dumbbell; it need not be there yet.

    Raises `EnvironmentFault`, which names `what` is to be there, if the environment does not say where it is.
    """
    base, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
    if Path(base).is_absolute():
        return Path(base) / "dumbbell"
    if not Path(home).is_absolute():
        raise EnvironmentFault(f"no folder for {what}: expected HOME or XDG_CACHE_HOME to hold an absolute path")
    return Path(home) / ".cache" / "dumbbell"
