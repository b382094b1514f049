"""Runs with cached reductions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from dumbbell.results import Run

Result = TypeVar("Result")


class Runs(tuple["Run", ...]):
    """A tuple of runs that caches what is computed from all of them.

    Tables, figures and claims need the same reductions, and a reduction reads the samples of every run.
    """

    def __new__(cls, runs: Iterable[Run] = ()) -> Runs:
        """A tuple of these runs with an empty cache."""
        made = super().__new__(cls, runs)
        made._cache = {}
        return made

    _cache: dict[Any, Any]

    def cached(self, compute: Callable[[Runs], Result]) -> Result:
        """`compute` of these runs, called only once. Callers share the result and must not change it."""
        if compute not in self._cache:
            self._cache[compute] = compute(self)
        result: Result = self._cache[compute]
        return result
