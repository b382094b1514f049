"""Identifiers: an id says which entry is meant; a name is for people and may be shared."""

from __future__ import annotations

from collections.abc import Iterable


class Ids:
    """Gives every entry of a list an id of its own."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        """`taken`: those that entries have already."""
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def take(self, *wanted: str) -> str:
        """The first of `wanted` that is free; if none is, the first free of `LAST-2`, `LAST-3`, ..."""
        for candidate in wanted:
            if candidate not in self._taken:
                self._taken.add(candidate)
                return candidate
        base = wanted[-1]
        number = self._next.get(base, 2)
        while f"{base}-{number}" in self._taken:
            number += 1
        self._next[base] = number + 1
        self._taken.add(f"{base}-{number}")
        return f"{base}-{number}"
