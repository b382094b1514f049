"""The draft's claims. Each is decided by a small function; claims.csv has their wording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from dumbbell.results.runs import Runs
from dumbbell.study.claims import Outcome, judge_claims
from dumbbell.study.model import Claim
from dumbbell_studies.sce.claims import marking, one_flow, two_flow
from dumbbell_studies.sce.published import claim_rows

if TYPE_CHECKING:
    from dumbbell.results import Run

Evidence = TypeVar("Evidence")


def _check_on(evidence: Callable[[Runs], Evidence], check: Callable[[Evidence], Outcome], runs: Runs) -> Outcome:
    """The outcome of a check on its evidence, which is computed once for all claims."""
    return check(runs.cached(evidence))


CHECKS: dict[str, Callable[[Runs], Outcome]] = {
    **{name: partial(_check_on, one_flow.Cells, each) for name, each in one_flow.CHECKS.items()},
    **{name: partial(_check_on, two_flow.PairCells, each) for name, each in two_flow.CHECKS.items()},
    **{name: partial(_check_on, marking.Ramps, each) for name, each in marking.CHECKS.items()},
}


def check_claims(runs: Sequence[Run]) -> list[Claim]:
    """All claims of claims.csv, judged on these runs. A claim is not applicable if its runs are missing."""
    return judge_claims(claim_rows(), CHECKS, runs if isinstance(runs, Runs) else Runs(runs))
