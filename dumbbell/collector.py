"""Python's collector of cyclic garbage, and when not to have it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Without cyclic garbage collection: looking for cycles takes what makes many objects, and none, a fifth to two fifths of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
