"""What the plans of a sweep have in common is made once: most of what a plan has does not change from cell to cell."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Kept:
    """The value that was last made for each place, and what it was made of."""

    def __init__(self) -> None:
        self._last: dict[Hashable, tuple[tuple[Any, ...], Any]] = {}

    def get(self, place: Hashable, parts: tuple[Any, ...], make: Callable[[], T]) -> T:
        """What `make` gives; it is called only if it was not called for this place yet, or for other parts than these.

        `parts` are all that the value depends on. They are compared by identity first, so that settings that a sweep does not touch cost
        nothing.
        """
        before = self._last.get(place)
        if before is not None and before[0] == parts:
            value: T = before[1]
            return value
        value = make()
        self._last[place] = parts, value
        return value
