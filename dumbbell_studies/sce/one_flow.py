"""The one-flow part: one flow of each congestion control through cake with SCE."""

from __future__ import annotations

from dumbbell.study.model import Part
from dumbbell_studies.sce.claims import check_claims
from dumbbell_studies.sce.figures import FIGURES
from dumbbell_studies.sce.fitted import FITTED
from dumbbell_studies.sce.formats import ONE_FLOW_DIFF_FORMAT, ONE_FLOW_FORMAT
from dumbbell_studies.sce.published import FOLDER
from dumbbell_studies.sce.scenarios import QUICK_NOTE, one_flow
from dumbbell_studies.sce.tables import draft_tables

_FORMATS = (ONE_FLOW_FORMAT, ONE_FLOW_DIFF_FORMAT)

ONE_FLOW = Part(
    name="one-flow",
    title="SCE, one flow: 5 congestion controls x 8 bandwidths x 8 delays x 300 s",
    formats=_FORMATS,
    published={format_.name: FOLDER / f"{format_.name}.csv" for format_ in _FORMATS},
    scenarios=one_flow,
    quick_note=QUICK_NOTE,
    figures=FIGURES,
    tables=draft_tables,
    claims=check_claims,
    fitted=FITTED,
)
