"""Tables 1-4 and 12-21 in the draft's layout: one row per bandwidth, one column per delay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.comparing.format import Measured
from dumbbell.comparing.tables import Cell, Table, fixed, short
from dumbbell_studies.sce import reductions
from dumbbell_studies.sce.published import table_numbers

if TYPE_CHECKING:
    from dumbbell.results import Run

_TITLES = {
    reductions.THROUGHPUT: ("Mean throughput (Mbit/s)", 2),
    reductions.RTT: ("Mean TCP RTT (ms)", 2),
    reductions.THROUGHPUT_DIFF: ("Mean throughput difference, normalised by bandwidth", 3),
    reductions.RTT_DIFF: ("Mean TCP RTT difference (ms)", 2),
}


def draft_tables(runs: Sequence[Run]) -> dict[int, Table]:
    """The draft's one-flow tables from our runs, by number. A cell without a run is empty."""
    measured = {**reductions.one_flow(runs), **reductions.one_flow_diff(runs)}
    return {
        number: _table(number, metric, (first, second) if second else (first,), measured)
        for (metric, first, second, mode), number in sorted(table_numbers().items(), key=lambda item: item[1])
        if not mode
    }


def _table(number: int, metric: str, ccs: tuple[str, ...], measured: Measured) -> Table:
    title, decimals = _TITLES[metric]

    def middle(bandwidth: float, delay: float) -> Cell:
        values = measured.get(((*ccs, bandwidth, delay), metric))
        return fixed(float(np.median(values)), decimals) if values else None

    return Table(
        f"Table {number}: {title}, {' - '.join(ccs)}",
        ["bandwidth_mbit", *(f"{delay:g} ms" for delay in reductions.DELAYS_MS)],
        [[short(bandwidth), *(middle(bandwidth, delay) for delay in reductions.DELAYS_MS)] for bandwidth in reductions.BANDWIDTHS_MBIT],
    )
