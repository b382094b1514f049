"""The report's claims. Each is a check with its parameters; claims.csv has their wording."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dumbbell.study.claims import Outcome, judge_claims
from dumbbell.study.model import Claim
from dumbbell_studies.teacup.claims import capped, delay, growth, sharing
from dumbbell_studies.teacup.published import claim_rows
from dumbbell_studies.teacup.trials import Trials, trials

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
    "T027": partial(growth.lone_flows_fall_short, ccs=["newreno"], first_share=0.90),
    "T028": partial(growth.smaller_start_of_avoidance, ccs=["newreno"]),
    "T029": partial(growth.early_maximum, cc="newreno", qdisc="pie", between_kb=(500, 660)),
    "T030+T031+T037": partial(growth.first_halvings, cc="newreno", qdiscs=["pie"], counts=[2], between_kb=(120, 185), share=0.6),
    "T032": partial(growth.start_of_avoidance, cc="newreno", qdisc="pfifo", between_kb=(250, 345)),
    "T033+T035": partial(growth.end_of_slow_start, cc="newreno", qdiscs=_CODELS, between_kb=(220, 330)),
    "T034+T036": partial(growth.first_halvings, cc="newreno", qdiscs=_CODELS, counts=[1], between_kb=(105, 170), of_peak=(0.45, 0.55)),
    "T041+T083+T088": growth.deficit_from_early_exit,
    "T042": partial(sharing.coarse_sharing, cc="cubic", mean=(0.0, 0.92)),
    "T043+T044": partial(sharing.incumbent_dominates, cc="cubic"),
    "T045": partial(sharing.split_differs_between_runs, cc="cubic"),
    "T046": partial(delay.saw_tooth, cc="cubic", top_ms=(220, 260), bottom_ms=None, each_epoch=True),
    "T047": partial(sharing.uneven_epoch, cc="cubic"),
    "T048": partial(growth.early_saturation, cc="cubic"),
    "T049+T050+T051": partial(
        capped.capped_without_loss, cc="cubic", flow=1, between_kb=(390, 460), lossless_s=(0, 20), constant_s=(5, 20), least_mbit=9.0
    ),
    "T052": partial(capped.capped_without_loss, cc="cubic", flow=3, between_kb=(250, 520), lossless_s=(86, 100), constant_s=(88, 100)),
    "T053": partial(capped.losses_in_overlap, cc="cubic"),
    "T054": partial(delay.queueing_adds, cc="cubic", added_ms=(205, 230), windows=[(20, 80)]),
    "T056+T057+T058": partial(capped.slow_start_ramps, cc="cubic", count=(5, 7)),
    "T059+T060": partial(capped.later_ramps, cc="cubic", period_ms=(104, 128), low_ms=(215, 245), high_ms=(320, 355)),
    "T061+T081": partial(delay.aqm_shares_better_and_adds_less, cc="cubic"),
    "T062+T063": partial(sharing.even_shares, ccs=["cubic"], qdiscs=sharing.SINGLE_QUEUE_AQMS, jain=0.95, cov=_MODERATE),
    "T064+T082": partial(sharing.even_shares, ccs=["cubic"], qdiscs=["fq_codel"], jain=0.995, cov=(0.0, 0.05), limits=[180, 2000]),
    "T065": partial(delay.widest_band, ccs=["cubic"]),
    "T066+T067": partial(delay.narrow_band, ccs=["cubic"]),
    "T068+T069": partial(delay.limit_changes_nothing, ccs=["cubic"]),
    "T070": partial(delay.spike_then_settle, ccs=["cubic"], pie_settled_ms=240),
    "T071": partial(delay.less_smooth, cc="cubic"),
    "T072": partial(growth.lone_flows_fall_short, ccs=["cubic"], first_share=0.95, slow=False),
    "T073": partial(growth.avoidance_below_plateau, cc="cubic", share=0.60),
    "T074": partial(growth.early_maximum, cc="cubic", qdisc="pie", between_kb=(320, 460)),
    "T075+T076": partial(growth.first_halvings, cc="cubic", qdiscs=["pie"], counts=[2], between_kb=(120, 200)),
    "T077+T079": partial(growth.end_of_slow_start, cc="cubic", qdiscs=_CODELS, between_kb=(270, 410)),
    "T078+T080": partial(growth.first_halvings, cc="cubic", qdiscs=_CODELS, counts=[1, 2], between_kb=(120, 185)),
}

UNCHECKED: Mapping[str, str] = {
    "T055": "wants the same sender once more, paced; this stack does not pace",
}
"""Id of each claim without a check -> why."""


def check_claims(runs: Sequence[Run]) -> list[Claim]:
    """All claims of claims.csv, judged on these runs. A claim is not applicable if its runs are missing."""
    return judge_claims(claim_rows(), CHECKS, trials(runs), UNCHECKED)
