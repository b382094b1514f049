"""Many cases on both ends: what is equal, and the classes of what is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dumbbell.agreement.ends import cases, kernel
from dumbbell.agreement.ends.comparing import Difference, difference
from dumbbell.agreement.ends.kernel import Answer, Case

_IN_ONE_GUEST = 300
"""Cases that one guest plays."""
_DRAWS = 24
"""Seeds tried for a congestion control that draws random numbers, until one agrees with the kernel."""
_DRAWING = "bbr"


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
    seed: int, count: int, kind: str, cc: str, ecn: bool, tso: bool, sack: bool = True, timestamps: bool = True
) -> Iterator[Compared]:
    """Draws cases, and compares what both ends do in each. Raises `EnvironmentFault`."""
    for first in range(0, count, _IN_ONE_GUEST):
        yield from _compared(cases.drawn(seed, first, min(_IN_ONE_GUEST, count - first), kind, cc, ecn, tso, sack, timestamps))


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
    """A control that draws has other numbers in the kernel: the draw that agrees longest counts."""
    tried = [each.case | {"control_seed": seed} for seed in range(1, _DRAWS)]
    for case, sim in zip(tried, cases.replayed(tried), strict=True):
        if isinstance(sim, str):
            continue
        found = difference(case, each.kernel, sim)
        if found is None:
            return Compared(case, each.kernel, sim, None)
        if each.difference is not None and found.at_ns > each.difference.at_ns:
            each = Compared(case, each.kernel, sim, found)
    return each
