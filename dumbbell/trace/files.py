"""Capture files as bytes, and what can be wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dumbbell.errors import BadInput

Source = str | Path | bytes
"""A capture file, or what is in one."""


def content(source: Source) -> bytes:
    """What a file holds. Raises `BadInput` if it cannot be read."""
    if isinstance(source, bytes):
        return source
    try:
        return Path(source).read_bytes()
    except OSError as error:
        raise BadInput(f"{source}: cannot be read ({error.strerror}); expected a packet capture") from None


@contextmanager
def named(*sources: Source) -> Iterator[None]:
    """Turns the native module's complaint into a `BadInput` that names the files."""
    try:
        yield
    except ValueError as error:
        names = " and ".join("a capture" if isinstance(source, bytes) else str(source) for source in sources)
        raise BadInput(f"{names}: {error}") from None
