"""Tables 5-11 and 22-111: a row a bandwidth (and flow), a column a delay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.report.format import Key, Measured
from dumbbell.report.tables import Table
from dumbbell.studies.sce import pairs as p
from dumbbell.studies.sce import reductions as r
from dumbbell.studies.sce.published import table_numbers

if TYPE_CHECKING:
    from dumbbell.results import Run

_TITLES = {
    p.JAIN: ("Jain's index", 3),
    r.THROUGHPUT: ("Mean throughput (Mbit/s)", 2),
    r.RTT: ("Mean TCP RTT (ms)", 2),
}


def numbered(runs: Sequence[Run]) -> dict[int, Table]:
    """The draft's two-flow tables from our runs, by number; medians over repeats, a cell without a run is empty."""
    measured = {**p.two_flow(runs), **p.jain(runs)}
    return {
        number: pair_table(f"Table {number}: ", metric, (mode, cc1, cc2), measured)
        for (metric, cc1, cc2, mode), number in sorted(table_numbers().items(), key=lambda item: item[1])
        if mode
    }


def pair_table(head: str, metric: str, which: tuple[str, str, str], measured: Measured) -> Table:
    """One metric of a queue mode and pair; Jain's index has a row a bandwidth, the others one for each flow."""
    name, decimals = _TITLES[metric]
    mode, cc1, cc2 = which
    flows: list[tuple[float | str, ...]] = [()] if metric == p.JAIN else [(1.0, cc1), (2.0, cc2)]

    def text(bandwidth: float, delay: float, flow: tuple[float | str, ...]) -> str:
        key: Key = (*which, bandwidth, delay, *flow)
        values = measured.get((key, metric))
        return f"{float(np.median(values)):.{decimals}f}" if values else ""

    return Table(
        f"{head}{name}, {cc1} and {cc2}, {mode}",
        ["bandwidth_mbit", *(["flow", "cc"] if flows[0] else []), *(f"{delay:g} ms" for delay in p.DELAYS_MS)],
        [
            [f"{bandwidth:g}", *(f"{part:g}" if isinstance(part, float) else part for part in flow)]
            + [text(bandwidth, delay, flow) for delay in p.DELAYS_MS]
            for bandwidth in p.BANDWIDTHS_MBIT
            for flow in flows
        ],
    )
