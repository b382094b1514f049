"""A test case of a specification, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Findings:
    """The conditions of a case, each with what was measured."""

    conditions: list[tuple[str, bool]] = field(default_factory=list)
    numbers: dict[str, float] = field(default_factory=dict)

    def add(self, condition: str, holds: bool, **numbers: float) -> None:
        """Add a condition, and the numbers that it rests on."""
        self.conditions.append((condition, bool(holds)))
        self.numbers |= {name: round(float(value), 6) for name, value in numbers.items()}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a case."""

    case: str
    title: str
    passed: bool
    criterion: str
    numbers: Mapping[str, float]
    reason: str
    """The conditions that do not hold, or all if the case passes."""

    def plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "case": self.case,
            "title": self.title,
            "result": self.result,
            "criterion": self.criterion,
            "numbers": dict(self.numbers),
            "reason": self.reason,
        }

    @property
    def result(self) -> str:
        """`pass` or `fail`."""
        return "pass" if self.passed else "fail"


@dataclass(frozen=True, slots=True)
class Case:
    """A test case. `check` runs its scenarios and adds its conditions."""

    name: str
    title: str
    """Title of the case in the specification."""
    criterion: str
    """Condition for a pass, with the numbers that the specification leaves open."""
    check: Callable[[Mapping[str, Any], Findings], None]
    """Takes the congestion control as a scenario has it."""

    def judge(self, cc: Mapping[str, Any]) -> Outcome:
        """Run the case."""
        findings = Findings()
        try:
            self.check(cc, findings)
        except NotSeenError as error:
            findings.add(str(error), False)
        failed = [condition for condition, holds in findings.conditions if not holds]
        shown = failed or [condition for condition, _ in findings.conditions]
        return Outcome(self.name, self.title, not failed, self.criterion, findings.numbers, "; ".join(shown))


class NotSeenError(Exception):
    """A run never comes to what a case is about."""
