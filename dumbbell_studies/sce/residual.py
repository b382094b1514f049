"""Where the throughputs of two flows are outside the tolerance, and why: because of their sum, of chance, or of how they share the sum.

The cause is the sum if the value is within the tolerance after both of our throughputs are scaled to the published sum. Otherwise it is
chance if the published value is within the tolerance of a value between the minimum and the maximum of our runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dumbbell.comparing.agreement import percent
from dumbbell.comparing.difference import ROUNDING, Cell, difference
from dumbbell.comparing.reference import read_reference
from dumbbell.comparing.tables import Table
from dumbbell_studies.sce import pairs, reductions
from dumbbell_studies.sce.formats import TWO_FLOW_FORMAT
from dumbbell_studies.sce.published import FOLDER

if TYPE_CHECKING:
    from dumbbell.results import Run

_LONG_MS = 80.0

Kind = tuple[str, int, bool]
"""Queue mode, number of SCE flows, whether the path is long."""


def residual_table(runs: Sequence[Run]) -> Table:
    """One row per queue mode, number of SCE flows and length of the path."""
    published = read_reference(FOLDER / f"{TWO_FLOW_FORMAT.name}.csv", [TWO_FLOW_FORMAT]).values
    cells = difference(pairs.two_flow(runs), published, TWO_FLOW_FORMAT).cells_of(reductions.THROUGHPUT)
    by_cell: dict[tuple[str | float, ...], list[Cell]] = {}
    for cell in cells:
        by_cell.setdefault(tuple(cell.key[name] for name in ("queue_mode", "cc1", "cc2", "bandwidth_mbit", "delay_ms")), []).append(cell)
    kinds: dict[Kind, list[list[Cell]]] = {}
    for (mode, cc1, cc2, _, delay), flows in by_cell.items():
        kind = str(mode), sum(str(cc).endswith("-sce") for cc in (cc1, cc2)), float(delay) >= _LONG_MS
        kinds.setdefault(kind, []).append(flows)
    rows = [[*_labels(kind), *_numbers(kinds[kind])] for kind in sorted(kinds)]
    heads = [
        "queue mode",
        "SCE flows",
        "delay",
        "values",
        "outside",
        "for the sum",
        "for chance",
        "for the shares",
        "mean error of the sum",
    ]
    return Table("Why throughputs of two flows lie outside the tolerance", heads, rows)


def _labels(kind: Kind) -> list[str]:
    mode, sce_flows, long = kind
    return [mode, str(sce_flows), f"{_LONG_MS:g} ms" if long else "to 20 ms"]


def _numbers(flow_pairs: Sequence[Sequence[Cell]]) -> list[str]:
    outside = by_chance = by_sum = 0
    errors = []
    for flows in flow_pairs:
        ours, theirs = sum(cell.ours for cell in flows), sum(cell.theirs for cell in flows)
        errors.append((ours - theirs) / float(flows[0].key["bandwidth_mbit"]))
        for cell in flows:
            if cell.within:
                continue
            outside += 1
            if abs(cell.ours * theirs / ours - cell.theirs) <= cell.allowed + ROUNDING:
                by_sum += 1
            elif cell.low - cell.allowed <= cell.theirs <= cell.high + cell.allowed:
                by_chance += 1
    values = sum(len(flows) for flows in flow_pairs)
    return [*map(str, (values, outside, by_sum, by_chance, outside - by_sum - by_chance)), percent(sum(errors) / len(errors), 2)]
