"""Judging the claims of a study: each row of a claims.csv is decided by a small function."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dumbbell.study.model import Claim

Evidence = TypeVar("Evidence")

STATUSES = ("pass", "fail", "expected_fail", "not_applicable")


class MissingRunError(Exception):
    """A claim needs a run that is missing, or a series that was not recorded."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of checking a claim, with the numbers that decide it."""

    holds: bool
    measured: str


class Findings:
    """The conditions of one claim, each with the measured values."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._holds = True

    def add(self, text: str, holds: bool) -> None:
        """Add a condition. The text marks conditions that do not hold with [no]."""
        self._texts.append(text if holds else f"{text} [no]")
        self._holds = self._holds and bool(holds)

    @property
    def holds(self) -> bool:
        """True if all conditions so far hold."""
        return self._holds

    @property
    def text(self) -> str:
        """The measured values of all conditions."""
        return "; ".join(self._texts)

    def outcome(self) -> Outcome:
        """The outcome: the claim holds if all conditions hold."""
        return Outcome(self._holds, self.text)


def read_claims(path: Path) -> list[dict[str, str]]:
    """Rows of a claims.csv: statements of the authors, expressed as checks on measured quantities."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def judge_claims(
    rows: Iterable[Mapping[str, str]],
    checks: Mapping[str, Callable[[Evidence], Outcome]],
    evidence: Evidence,
    unchecked: Mapping[str, str] | None = None,
    excused: Mapping[str, str] | None = None,
) -> list[Claim]:
    """The outcome of each row, decided by its check on the evidence.

    A row is not applicable if it has no check or if its runs are missing. `unchecked`: id of a claim -> why it has no check. `excused`: id
    of a claim -> the known reason why it fails here, which makes it an expected failure.
    """
    return [
        _judge(
            row,
            checks.get(row["claim_id"]),
            evidence,
            (unchecked or {}).get(row["claim_id"], "no check"),
            (excused or {}).get(row["claim_id"]),
        )
        for row in rows
    ]


def count_statuses(claims: Sequence[Claim]) -> dict[str, int]:
    """Number of claims of each status, in the order of `STATUSES`."""
    return {status: sum(claim.status == status for claim in claims) for status in STATUSES}


def share_passed(claims: Sequence[Claim]) -> float | None:
    """Share of the applicable claims that pass; None if no claim is applicable."""
    counts = count_statuses(claims)
    applicable = len(claims) - counts["not_applicable"]
    return counts["pass"] / applicable if applicable else None


def _judge(
    row: Mapping[str, str], check: Callable[[Evidence], Outcome] | None, evidence: Evidence, unchecked: str, excuse: str | None
) -> Claim:
    def claim(status: str, measured: str) -> Claim:
        return Claim(row["claim_id"], status, measured, row["check"], row["statement"])

    if check is None:
        return claim("not_applicable", unchecked)
    try:
        outcome = check(evidence)
    except MissingRunError as error:
        return claim("not_applicable", str(error))
    if outcome.holds:
        return claim("pass", outcome.measured)
    if excuse is not None:
        return claim("expected_fail", f"{outcome.measured} ({excuse})")
    return claim("fail", outcome.measured)
