"""Writing what people read: tables and figures."""

from __future__ import annotations

import errno
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
