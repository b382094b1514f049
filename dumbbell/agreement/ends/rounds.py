"""Many cases on both ends: what is equal, and the classes of what is not."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dumbbell.agreement.ends import cases, kernel
from dumbbell.agreement.ends.comparing import Difference, difference
from dumbbell.agreement.ends.kernel import Answer, Case

_IN_ONE_GUEST = 300
"""Cases that one guest plays."""
_DRAWING = "bbr"
"""A congestion control that draws random numbers."""
_CHOICES = 7
"""Each of its numbers is one of so many (`bbr_cycle_rand`)."""
_MOST_DRAWS = 6
"""Numbers of a case that are looked for."""


@dataclass(frozen=True)
class Compared:
    """A case, and what both ends do in it."""

    case: Case
    kernel: list[Answer]
    sim: list[Answer]
    difference: Difference | None


@dataclass
class Tally:
    """How many cases are equal."""

    equal: int = 0
    classes: Counter[str] = field(default_factory=Counter)

    @property
    def cases(self) -> int:
        """All cases."""
        return self.equal + self.classes.total()

    def add(self, each: Compared) -> None:
        """Counts a case."""
        if each.difference is None:
            self.equal += 1
        else:
            self.classes[each.difference.name] += 1

    def document(self) -> dict[str, Any]:
        """The tally for JSON."""
        return {"cases": self.cases, "equal": self.equal, "classes": dict(self.classes.most_common())}


def played(
    seed: int,
    count: int,
    kind: str,
    cc: str,
    ecn: bool,
    tso: bool,
    sack: bool = True,
    timestamps: bool = True,
    aborts: bool = False,
) -> Iterator[Compared]:
    """Draws cases, and compares what both ends do in each. Raises `EnvironmentFault`."""
    for first in range(0, count, _IN_ONE_GUEST):
        number = min(_IN_ONE_GUEST, count - first)
        yield from _compared(cases.drawn(seed, first, number, kind, cc, ecn, tso, sack, timestamps, aborts))


def replayed(listed: list[Case]) -> list[Compared | None]:
    """Compares what both ends do in given cases; None where no peer of the simulator's end can have sent it. Raises `EnvironmentFault`."""
    answers = cases.replayed(listed)
    possible = [(case, each) for case, each in zip(listed, answers, strict=True) if not isinstance(each, str)]
    compared = iter(_compared(possible) if possible else ())
    return [None if isinstance(each, str) else next(compared) for each in answers]


def _compared(found: list[tuple[Case, list[Answer]]]) -> Iterator[Compared]:
    answers = kernel.answers([case for case, _ in found])
    for (case, sim), theirs in zip(found, answers, strict=True):
        each = Compared(case, theirs, sim, difference(case, theirs, sim))
        yield _with_other_draws(each) if each.difference is not None and case["cc"] == _DRAWING else each


def _with_other_draws(each: Compared) -> Compared:
    """A control that draws has other numbers in the kernel. Looks for these, one after the other: with each the ends agree longest."""
    numbers: list[int] = []
    while each.difference is not None and len(numbers) < _MOST_DRAWS:
        tried = [cases.drawing(each.case, [*numbers, number], _CHOICES) for number in range(_CHOICES)]
        found = {
            number: Compared(case, each.kernel, sim, difference(case, each.kernel, sim))
            for number, (case, sim) in enumerate(zip(tried, cases.replayed(tried), strict=True))
            if not isinstance(sim, str)
        }
        best = max(found, key=lambda number: _agreed_ns(found[number]), default=None)
        if best is None or len({_agreed_ns(other) for other in found.values()}) == 1:
            # They differ before it is drawn.
            break
        each = max(each, found[best], key=_agreed_ns)
        numbers.append(best)
    return each


def _agreed_ns(each: Compared) -> float:
    """For how long both ends agree."""
    return each.difference.at_ns if each.difference is not None else math.inf
