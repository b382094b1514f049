"""How the claims of a study are judged: rows of a claims.csv, each decided by a small function."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dumbbell.studies.study import Claim

Evidence = TypeVar("Evidence")

STATUSES = ("pass", "fail", "expected_fail", "not_applicable")


class MissingRunError(Exception):
    """A claim needs something that was not run, or not recorded."""


@dataclass(frozen=True)
class Outcome:
    """Whether a claim holds, and the numbers that decide it."""

    holds: bool
    measured: str


def read_claims(path: Path) -> list[dict[str, str]]:
    """Rows of a claims.csv: what the authors say happens, as checks on measured quantities."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def judge_claims(
    rows: Iterable[Mapping[str, str]],
    checks: Mapping[str, Callable[[Evidence], Outcome]],
    evidence: Evidence,
    unchecked: str,
    excused: Mapping[str, str] | None = None,
) -> list[Claim]:
    """Every row judged on the evidence; a row without a check (`unchecked` says why), or without its runs, is not applicable.

    `excused`: claim -> why ours is known to differ.
    """
    return [_judge(row, checks.get(row["claim_id"]), evidence, unchecked, (excused or {}).get(row["claim_id"])) for row in rows]


def count_statuses(claims: Sequence[Claim]) -> dict[str, int]:
    """Status -> number of claims, all statuses in order."""
    return {status: sum(claim.status == status for claim in claims) for status in STATUSES}


def share_passed(claims: Sequence[Claim]) -> float | None:
    """Share of the applicable claims that pass; None if none is applicable."""
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
    except MissingRunError as lack:
        return claim("not_applicable", str(lack))
    if outcome.holds:
        return claim("pass", outcome.measured)
    if excuse is not None:
        return claim("expected_fail", f"{outcome.measured} ({excuse})")
    return claim("fail", outcome.measured)
