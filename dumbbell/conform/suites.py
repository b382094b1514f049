"""The suites of cases, by the congestion control that they are of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell.conform.bbr3 import CASES, SOURCE
from dumbbell.conform.case import Case, Outcome
from dumbbell.errors import BadInput, one_of


@dataclass(frozen=True)
class Suite:
    """The cases of a specification."""

    name: str
    """Congestion control that they are of."""
    source: str
    cases: Sequence[Case]

    def chosen(self, names: Iterable[str] | None) -> list[Case]:
        """Return the cases of these names, in the suite's order; all without names. Raises `BadInput`."""
        known = {case.name: case for case in self.cases}
        wanted = {name.strip().upper() for name in names or known}
        if unknown := sorted(wanted - known.keys()):
            raise BadInput(f"{self.name} has no case {unknown[0]!r}; expected {one_of(list(known))}")
        return [case for case in self.cases if case.name in wanted]

    def run(self, cases: Sequence[Case], parameters: Mapping[str, Any]) -> Iterator[Outcome]:
        """Run cases one after another, with these parameters of the congestion control."""
        return (case.judge({"kind": self.name, **parameters}) for case in cases)


SUITES = {"bbr3": Suite("bbr3", SOURCE, CASES)}
