"""The one-flow part: its formats, figures and everything else that `reproduce`, `compare`, `table`, `plot` and `claims` ask of it."""

from __future__ import annotations

from collections.abc import Mapping

from dumbbell.report.format import Format, Key, KeyValue, Metric, Tolerance
from dumbbell.studies.sce import reductions as r
from dumbbell.studies.sce.claims import check_claims
from dumbbell.studies.sce.figures import FIGURES
from dumbbell.studies.sce.fitted import FITTED
from dumbbell.studies.sce.published import FOLDER, chaotic_cells, table_numbers
from dumbbell.studies.sce.scenarios import QUICK_NOTE, one_flow
from dumbbell.studies.sce.tables import numbered
from dumbbell.studies.study import Part

INFORMATIVE_BELOW = 0.94
"""Share of the bandwidth; the ceiling of goodput is 1448/1514 = 0.956 of it."""


def _below_ceiling(theirs: float, key: Mapping[str, KeyValue]) -> bool:
    return theirs < INFORMATIVE_BELOW * float(key["bandwidth_mbit"])


def _chaotic(key: Key, metric: str) -> bool:
    cc, bandwidth, delay = key
    return (str(cc), float(bandwidth), float(delay), metric) in chaotic_cells()


def _table(key: Key, metric: str) -> int | None:
    first, second = (key[0], "") if len(key) == 3 else key[:2]
    return table_numbers().get((metric, str(first), str(second)))


ONE_FLOW_FORMAT = Format(
    name="sce_one_flow",
    columns=("table", "cc", "bandwidth_mbit", "delay_ms", "metric", "value"),
    keys=("cc", "bandwidth_mbit", "delay_ms"),
    numbers=frozenset({"bandwidth_mbit", "delay_ms"}),
    metrics={
        r.THROUGHPUT: Metric(
            unit="Mbit/s",
            title="Throughput",
            tolerance=Tolerance(of_column=("bandwidth_mbit", 0.03)),
            informative=_below_ceiling,
            informative_rule=f"  published below {INFORMATIVE_BELOW} R",
            bar=0.86,
            informative_bar=0.75,
        ),
        r.RTT: Metric(unit="ms", title="Mean RTT", tolerance=Tolerance(relative=0.10, absolute=1.0), bar=0.95),
    },
    measure=r.one_flow,
    loose=_chaotic,
    table_number=_table,
)

ONE_FLOW_DIFF_FORMAT = Format(
    name="sce_one_flow_diff",
    columns=("table", "cc_a", "cc_b", "bandwidth_mbit", "delay_ms", "metric", "value"),
    keys=("cc_a", "cc_b", "bandwidth_mbit", "delay_ms"),
    numbers=frozenset({"bandwidth_mbit", "delay_ms"}),
    metrics={
        r.THROUGHPUT_DIFF: Metric(unit="", title="Throughput difference over bandwidth", tolerance=Tolerance(absolute=0.03)),
        r.RTT_DIFF: Metric(unit="ms", title="RTT difference", tolerance=Tolerance(relative=0.10, absolute=1.0)),
    },
    measure=r.one_flow_diff,
    table_number=_table,
)

ONE_FLOW = Part(
    name="one-flow",
    title="SCE, one flow: 5 congestion controls x 8 bandwidths x 8 delays x 300 s",
    formats=(ONE_FLOW_FORMAT, ONE_FLOW_DIFF_FORMAT),
    published={format_.name: FOLDER / f"{format_.name}.csv" for format_ in (ONE_FLOW_FORMAT, ONE_FLOW_DIFF_FORMAT)},
    scenarios=one_flow,
    quick_note=QUICK_NOTE,
    figures=FIGURES,
    tables=numbered,
    claims=check_claims,
    fitted=FITTED,
)
