"""A cache of the parts that the plans of a sweep share: most parts of a plan do not change from cell to cell."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Kept:
    """The value that was last made for each place, and its parts."""

    def __init__(self) -> None:
        self._last: dict[Hashable, tuple[object, tuple[Any, ...], Any]] = {}

    def get(self, place: Hashable, written: object, parts: tuple[Any, ...], make: Callable[[], T]) -> T:
        """Return the value of `make`. It calls `make` unless the last call for this place had the very object `written`, and equal parts.

        `written` and `parts` together are all that the value depends on. Equal settings are not enough: True equals 1 in them.
        """
        before = self._last.get(place)
        if before is not None and before[0] is written and before[1] == parts:
            value: T = before[2]
            return value
        value = make()
        self._last[place] = written, parts, value
        return value
