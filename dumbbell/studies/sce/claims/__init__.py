"""The draft's claims, each a small function; claims.csv holds their wording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from dumbbell.studies.claims import Outcome, judge_claims
from dumbbell.studies.runs import Runs
from dumbbell.studies.sce.claims import marking, one_flow, two_flow
from dumbbell.studies.sce.published import claim_rows
from dumbbell.studies.study import Claim

if TYPE_CHECKING:
    from dumbbell.results import Run

Evidence = TypeVar("Evidence")


def _on(evidence: Callable[[Runs], Evidence], check: Callable[[Evidence], Outcome], runs: Runs) -> Outcome:
    """A check on what it looks at, which is worked out once for all claims."""
    return check(runs.once(evidence))


CHECKS: dict[str, Callable[[Runs], Outcome]] = {
    **{name: partial(_on, one_flow.Cells, each) for name, each in one_flow.CHECKS.items()},
    **{name: partial(_on, two_flow.Pairs, pair) for name, pair in two_flow.CHECKS.items()},
    **{name: partial(_on, marking.Ramps, ramp) for name, ramp in marking.CHECKS.items()},
}


def check_claims(runs: Sequence[Run]) -> list[Claim]:
    """Every claim of claims.csv judged on these runs; those about cells that were not run are not applicable."""
    return judge_claims(claim_rows(), CHECKS, runs if isinstance(runs, Runs) else Runs(runs), "no check")
