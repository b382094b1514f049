"""The page's claims. Each is decided by a small function; claims.csv has their wording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dumbbell.study.claims import judge_claims
from dumbbell.study.model import Claim
from dumbbell_studies.ordering.claims import stability, tables
from dumbbell_studies.ordering.published import claim_rows
from dumbbell_studies.ordering.trials import trials

if TYPE_CHECKING:
    from dumbbell.results import Run

CHECKS = {**stability.CHECKS, **tables.CHECKS}


def check_claims(runs: Sequence[Run]) -> list[Claim]:
    """All claims of claims.csv, judged on these runs. A claim is not applicable if its runs are missing."""
    return judge_claims(claim_rows(), CHECKS, trials(runs))
