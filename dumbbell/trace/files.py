"""Naming capture files, and errors that name them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dumbbell.errors import BadInput

Source = str | Path | bytes
"""The path of a capture file, or its contents."""


def readable(source: Source) -> Path | bytes:
    """The source in the form that the native module takes. Raises `BadInput` if it cannot be a capture."""
    if isinstance(source, bytes):
        return source
    try:
        mode = os.stat(source).st_mode
    except (OSError, ValueError) as error:
        raise BadInput(_unreadable(source, error)) from None
    if not stat.S_ISREG(mode):
        reason = "Is a directory" if stat.S_ISDIR(mode) else "is not a regular file"
        raise BadInput(f"{source}: cannot be read ({reason}); expected a packet capture")
    return Path(source)


@contextmanager
def errors_name_files(*sources: Source) -> Iterator[None]:
    """Turn a `ValueError` or `OSError` of the native module within the context into a `BadInput` that names the files."""
    names = " and ".join("a capture" if isinstance(source, bytes) else str(source) for source in sources)
    try:
        yield
    except OSError as error:
        raise BadInput(_unreadable(names, error)) from None
    except ValueError as error:
        raise BadInput(f"{names}: {error}") from None


def _unreadable(name: str | Path, error: OSError | ValueError) -> str:
    reason = (isinstance(error, OSError) and error.strerror) or error
    return f"{name}: cannot be read ({reason}); expected a packet capture"
