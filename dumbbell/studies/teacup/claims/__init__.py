"""The report's claims. Each is a check with its parameters; claims.csv has their wording."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dumbbell.studies.claims import Outcome, judge_claims
from dumbbell.studies.study import Claim
from dumbbell.studies.teacup.claims import delay, growth, sharing
from dumbbell.studies.teacup.published import claim_rows
from dumbbell.studies.teacup.trials import Trials, trials

if TYPE_CHECKING:
    from dumbbell.results import Run

_CODELS = ("codel", "fq_codel")
_MODERATE = (0.05, 0.40)
"""Range of a moderate CoV of 2 s rates."""

CHECKS: Mapping[str, Callable[[Trials], Outcome]] = {
    "T001+T084+T085": delay.aqm_removes_standing_queue,
    "T002+T086": sharing.smoother_with_flow_queues,
    "T003+T087": growth.aqm_costs_throughput,
    "T005+T008": partial(sharing.share_differs_between_runs, cc="newreno"),
    "T006": partial(sharing.coarse_sharing, cc="newreno", mean=(0.75, 0.98), least=0.85),
    "T007": partial(sharing.diverging_shares, cc="newreno"),
    "T009": partial(delay.saw_tooth, cc="newreno", top_ms=(220, 260), bottom_ms=(80, 125)),
    "T010+T011": delay.full_queue,
    "T012": partial(sharing.uneven_epoch, cc="newreno"),
    "T013+T014": partial(growth.early_saturation, cc="newreno"),
    "T015": partial(growth.slower_oscillation, cc="newreno"),
    "T016": partial(delay.queueing_adds, cc="newreno", added_ms=(205, 230)),
    "T017+T038": partial(delay.aqm_shares_better_and_queues_less, ccs=["newreno"]),
    "T018+T019": partial(sharing.even_shares, ccs=["newreno"], qdiscs=sharing.SINGLE_QUEUE_AQMS, jain=0.95, cov=_MODERATE),
    "T020+T040": partial(sharing.even_shares, ccs=["newreno"], qdiscs=["fq_codel"], jain=0.99, cov=(0.0, 0.10)),
    "T021": partial(delay.widest_band, ccs=["newreno"]),
    "T022+T023": partial(delay.narrow_band, ccs=["newreno"]),
    "T024+T025": partial(delay.limit_changes_nothing, ccs=["newreno"]),
    "T026": partial(delay.spike_then_settle, ccs=["newreno"]),
    "T027": partial(growth.lone_flows_fall_short, ccs=["newreno"]),
    "T028": partial(growth.smaller_start_of_avoidance, ccs=["newreno"]),
    "T029": partial(growth.early_maximum, cc="newreno", qdisc="pie", between_kb=(500, 660)),
    "T030+T031+T037": partial(growth.first_halvings, cc="newreno", qdiscs=["pie"], count=2, between_kb=(120, 185), share=0.6),
    "T032": partial(growth.start_of_avoidance, cc="newreno", qdisc="pfifo", between_kb=(250, 345)),
    "T033+T035": partial(growth.end_of_slow_start, cc="newreno", qdiscs=_CODELS, between_kb=(220, 330)),
    "T034+T036": partial(growth.first_halvings, cc="newreno", qdiscs=_CODELS, count=1, between_kb=(105, 170), of_peak=(0.45, 0.55)),
    "T041+T083+T088": growth.deficit_from_early_exit,
    "T042": partial(sharing.coarse_sharing, cc="cubic", mean=(0.0, 0.92)),
    "T043+T044": partial(sharing.incumbent_dominates, cc="cubic"),
    "T045": partial(sharing.split_differs_between_runs, cc="cubic"),
    "T046": partial(delay.saw_tooth, cc="cubic", top_ms=(220, 260), bottom_ms=None, each_epoch=True),
    "T062+T063": partial(sharing.even_shares, ccs=["cubic"], qdiscs=sharing.SINGLE_QUEUE_AQMS, jain=0.95, cov=_MODERATE),
    "T065": partial(delay.widest_band, ccs=["cubic"]),
    "T066+T067": partial(delay.narrow_band, ccs=["cubic"]),
}


def check_claims(runs: Sequence[Run]) -> list[Claim]:
    """All claims of claims.csv, judged on these runs. A claim is not applicable if its runs are missing."""
    return judge_claims(claim_rows(), CHECKS, trials(runs), "no check")
