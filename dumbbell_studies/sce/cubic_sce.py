"""Our own extension: pairs with CUBIC-SCE, which is unfinished in the SCE tree and which the draft did not measure.

Paths, queues and durations are those of the two-flow part. There are no published values to compare with.
"""

from __future__ import annotations

from dumbbell.study.model import Part
from dumbbell_studies.sce import reductions
from dumbbell_studies.sce.formats import JAIN_FORMAT, TWO_FLOW_FORMAT
from dumbbell_studies.sce.pair_figures import cell_figures, fairness_figures
from dumbbell_studies.sce.pair_tables import fairness_table
from dumbbell_studies.sce.scenarios import two_flow
from dumbbell_studies.sce.two_flow import SEEDS

_CC = "cubic-sce"
CC_PAIRS = tuple((cc, _CC) for cc in (*reductions.CCS, _CC))
QUICK_PAIRS = (("cubic", _CC), ("reno-sce", _CC), (_CC, _CC))

CUBIC_SCE = Part(
    name="cubic-sce",
    title="Our extension, not in the draft: CUBIC-SCE with each congestion control and itself, 6 pairs x 5 x 4 x 3 queues",
    formats=(TWO_FLOW_FORMAT, JAIN_FORMAT),
    published={},
    scenarios=lambda request: two_flow(request, cc_pairs=QUICK_PAIRS if request.quick else CC_PAIRS),
    quick_note=f"{len(QUICK_PAIRS)} pairs x 2 bandwidths x 2 delays instead of {len(CC_PAIRS)} x 5 x 4, each run as long as the draft's",
    figures=fairness_figures(CC_PAIRS),
    summaries=lambda runs: {"fairness": fairness_table(runs)},
    seeds=SEEDS,
    cell_figures=cell_figures,
)
