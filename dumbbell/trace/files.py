"""Reading capture files, and errors that name them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dumbbell.errors import BadInput

Source = str | Path | bytes
"""The path of a capture file, or its contents."""


def read_bytes(source: Source) -> bytes:
    """The contents of a capture file. Raises `BadInput` if it cannot be read."""
    if isinstance(source, bytes):
        return source
    try:
        return Path(source).read_bytes()
    except OSError as error:
        raise BadInput(f"{source}: cannot be read ({error.strerror}); expected a packet capture") from None


@contextmanager
def errors_name_files(*sources: Source) -> Iterator[None]:
    """Within it, a `ValueError` of the native module becomes a `BadInput` that names the files."""
    try:
        yield
    except ValueError as error:
        names = " and ".join("a capture" if isinstance(source, bytes) else str(source) for source in sources)
        raise BadInput(f"{names}: {error}") from None
