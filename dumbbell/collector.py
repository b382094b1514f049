"""Python's collector of cyclic garbage, and when not to have it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Switch off cyclic garbage collection: for code that makes many objects and no cycles, looking for cycles takes a fifth to two fifths
    of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
