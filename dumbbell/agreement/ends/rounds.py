"""Many cases on both ends: what is equal, and the classes of what is not."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dumbbell.agreement.ends import STACK, cases, kernel
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
    crossed: bool = False,
    stack: str = STACK,
    name: str | None = None,
) -> Iterator[Compared]:
    """Draws cases of ends with this stack, and compares what they and those of the kernel `name` do in each. Raises `EnvironmentFault`."""
    for first in range(0, count, _IN_ONE_GUEST):
        number = min(_IN_ONE_GUEST, count - first)
        found = cases.drawn(seed, first, number, kind, cc, ecn, tso, sack, timestamps, aborts, crossed, stack)
        yield from (_drawn_alike(each, aborts, crossed, name) if _is_to_draw(each) else each for each in _compared(found, name))


def replayed(listed: list[Case], name: str | None = None) -> list[Compared | None]:
    """Compares what both ends do in given cases; None where no peer of the simulator's end can have sent it. Raises `EnvironmentFault`."""
    answers = cases.replayed(listed)
    possible = [(case, each) for case, each in zip(listed, answers, strict=True) if not isinstance(each, cases.Impossible)]
    compared = iter(_compared(possible, name) if possible else ())
    return [None if isinstance(each, cases.Impossible) else next(compared) for each in answers]


def _compared(found: list[tuple[Case, list[Answer]]], name: str | None) -> Iterator[Compared]:
    answers = kernel.answers([case for case, _ in found], name)
    for (case, sim), theirs in zip(found, answers, strict=True):
        each = Compared(case, theirs, sim, difference(case, theirs, sim))
        yield _with_numbers_of_kernel(each)[0] if _is_to_draw(each) else each


def _is_to_draw(each: Compared) -> bool:
    return each.difference is not None and each.case["cc"] == _DRAWING


def _drawn_alike(each: Compared, aborts: bool, crossed: bool, name: str | None) -> Compared:
    """Compares a case whose peer has reacted to a congestion control that draws as the kernel's does: both ends sent what it acknowledges.

    In a guest of its own a case meets the same random numbers whatever is in it.
    """
    case, sim = each.case, each.sim
    for _ in range(_MOST_DRAWS):
        [theirs] = kernel.answers([case], name)
        each, again = _with_numbers_of_kernel(Compared(case, theirs, sim, difference(case, theirs, sim)))
        if again is None:
            break
        case, sim = cases.drawn_again(again, aborts, crossed)
    return each


def _with_numbers_of_kernel(each: Compared) -> tuple[Compared, Case | None]:
    """Looks for the numbers that the kernel drew, one after the other: with each the ends agree longest.

    Also returns the case with them if no peer of an end that draws them can have sent what its peer did.
    """
    numbers: list[int] = []
    while each.difference is not None and len(numbers) < _MOST_DRAWS:
        tried = [_as_far_as_possible(each, cases.drawing(each.case, [*numbers, number], _CHOICES)) for number in range(_CHOICES)]
        best = max(range(_CHOICES), key=lambda number: tried[number][0])
        agreed_ns, found = tried[best]
        if agreed_ns == min(tried[number][0] for number in range(_CHOICES)):
            # They differ before it is drawn.
            break
        numbers.append(best)
        if found is None:
            return each, cases.drawing(each.case, numbers, _CHOICES)
        each = max(each, found, key=_agreed_ns)
    return each, None


def _as_far_as_possible(each: Compared, case: Case) -> tuple[float, Compared | None]:
    """For how long the kernel's end agrees with the simulator's in this case. None: it comes to a packet that no peer can have sent."""
    [sim] = cases.replayed([case])
    if not isinstance(sim, cases.Impossible):
        found = Compared(case, each.kernel, sim, difference(case, each.kernel, sim))
        return _agreed_ns(found), found
    at = case["actions"][sim.action]["at_ns"]
    begun = case | {"actions": case["actions"][: sim.action], "end_ns": at - 1}
    [answers] = cases.replayed([begun])
    assert not isinstance(answers, cases.Impossible)
    found = Compared(begun, [answer for answer in each.kernel if answer["at_ns"] < at], answers, None)
    apart = difference(begun, found.kernel, answers)
    return (at if apart is None else apart.at_ns), None


def _agreed_ns(each: Compared) -> float:
    """For how long both ends agree."""
    return each.difference.at_ns if each.difference is not None else math.inf
