"""Tables 5-11 and 22-111, with one row per bandwidth (and flow) and one column per delay; and a summary of all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.comparing.format import Key, Measured
from dumbbell.comparing.tables import Cell, Table, fixed, short
from dumbbell_studies.sce import pairs, reductions
from dumbbell_studies.sce.published import table_numbers

if TYPE_CHECKING:
    from dumbbell.results import Run

_TITLES = {
    pairs.JAIN: ("Jain's index", 3),
    reductions.THROUGHPUT: ("Mean throughput (Mbit/s)", 2),
    reductions.RTT: ("Mean TCP RTT (ms)", 2),
}
FAIR = 0.95
"""Jain's index of two flows if one has 61 % of the throughput."""


def draft_tables(runs: Sequence[Run]) -> dict[int, Table]:
    """The draft's two-flow tables from our runs, by number. Values are medians over seeds. A cell without a run is empty."""
    measured = {**pairs.two_flow(runs), **pairs.jain(runs)}
    return {
        number: pair_table(f"Table {number}: ", metric, (mode, cc1, cc2), measured)
        for (metric, cc1, cc2, mode), number in sorted(table_numbers().items(), key=lambda item: item[1])
        if mode
    }


def pair_table(head: str, metric: str, pair: tuple[str, str, str], measured: Measured) -> Table:
    """One metric of a pair (queue mode, cc, cc). Jain's index has one row per bandwidth, the other metrics one per bandwidth and flow."""
    name, decimals = _TITLES[metric]
    mode, cc1, cc2 = pair
    flows: list[tuple[float | str, ...]] = [()] if metric == pairs.JAIN else [(1.0, cc1), (2.0, cc2)]

    def middle(bandwidth: float, delay: float, flow: tuple[float | str, ...]) -> Cell:
        key: Key = (*pair, bandwidth, delay, *flow)
        values = measured.get((key, metric))
        return fixed(float(np.median(values)), decimals) if values else None

    return Table(
        f"{head}{name}, {cc1} and {cc2}, {mode}",
        ["bandwidth_mbit", *(["flow", "cc"] if flows[0] else []), *(f"{delay:g} ms" for delay in pairs.DELAYS_MS)],
        [
            [short(bandwidth), *(short(part) if isinstance(part, float) else part for part in flow)]
            + [middle(bandwidth, delay, flow) for delay in pairs.DELAYS_MS]
            for bandwidth in pairs.BANDWIDTHS_MBIT
            for flow in flows
        ],
    )


def fairness_table(runs: Sequence[Run]) -> Table:
    """One row per queue mode and pair: fairness, shares and RTT over all bandwidths and delays."""
    grids: dict[tuple[str, str, str], list[list[pairs.PairRun]]] = {}
    for cell, repeats in pairs.pair_runs(runs).items():
        grids.setdefault(cell.key[:3], []).append(repeats)
    rows: list[list[Cell]] = []
    for pair, cells in grids.items():
        index = [float(np.median([run.jain for run in repeats])) for repeats in cells]
        share = [float(np.median([run.shares[0] for run in repeats])) for repeats in cells]
        rtt = [[float(np.median([run.rtt_ms[i] for run in repeats])) for repeats in cells] for i in range(len(pairs.FLOWS))]
        fair = sum(value >= FAIR for value in index)
        numbers: list[Cell] = [
            fixed(float(np.mean(index)), 3),
            fixed(min(index), 3),
            fair,
            fixed(float(np.mean(share)), 3),
            *(fixed(float(np.mean(each)), 1) for each in rtt),
        ]
        rows.append([*pair, len(cells), *numbers])
    heads = ["cells", "mean index", "least index", f"index >= {FAIR}", "mean share of cc1", "RTT of cc1 (ms)", "RTT of cc2 (ms)"]
    return Table("Fairness over bandwidths and delays", ["queue mode", "cc1", "cc2", *heads], rows)
