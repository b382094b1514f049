"""Runs that remember what was worked out from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from dumbbell.results import Run

Found = TypeVar("Found")


class Runs(tuple["Run", ...]):
    """A tuple of runs. Tables, figures and claims ask for the same reductions, and each reads every file."""

    def __new__(cls, runs: Iterable[Run] = ()) -> Runs:
        """Make it of any runs."""
        made = super().__new__(cls, runs)
        made._known = {}
        return made

    _known: dict[Any, Any]

    def once(self, work: Callable[[Runs], Found]) -> Found:
        """`work` of these runs, done at the first call only; the outcome is shared and must not be changed."""
        if work not in self._known:
            self._known[work] = work(self)
        found: Found = self._known[work]
        return found
