"""Where the throughputs of two flows lie outside the tolerance, and why: the sum of the flows, chance, or how they share it.

A value is outside for its sum if it lies within once both of our throughputs are scaled to the published sum; for chance, if the published
value lies within the tolerance of something between our least and greatest over the repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dumbbell.comparing.agreement import percent
from dumbbell.comparing.difference import ROUNDING, Cell, difference
from dumbbell.comparing.reference import read_reference
from dumbbell.comparing.tables import Table
from dumbbell.studies.sce import pairs as p
from dumbbell.studies.sce import reductions as r
from dumbbell.studies.sce.formats import TWO_FLOW_FORMAT
from dumbbell.studies.sce.published import FOLDER

if TYPE_CHECKING:
    from dumbbell.results import Run

_LONG_MS = 80.0

Kind = tuple[str, int, bool]
"""Queue mode, how many of the flows are SCE's, whether the path is long."""


def residual_table(runs: Sequence[Run]) -> Table:
    """A row a queue mode, number of SCE flows and length of path."""
    published = read_reference(FOLDER / f"{TWO_FLOW_FORMAT.name}.csv", [TWO_FLOW_FORMAT]).values
    cells = difference(p.two_flow(runs), published, TWO_FLOW_FORMAT).cells_of(r.THROUGHPUT)
    pairs: dict[tuple[str | float, ...], list[Cell]] = {}
    for cell in cells:
        pairs.setdefault(tuple(cell.key[name] for name in ("queue_mode", "cc1", "cc2", "bandwidth_mbit", "delay_ms")), []).append(cell)
    kinds: dict[Kind, list[list[Cell]]] = {}
    for (mode, cc1, cc2, _, delay), flows in pairs.items():
        kind = str(mode), sum(str(cc).endswith("-sce") for cc in (cc1, cc2)), float(delay) >= _LONG_MS
        kinds.setdefault(kind, []).append(flows)
    rows = [[*_named(kind), *_numbers(kinds[kind])] for kind in sorted(kinds)]
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


def _named(kind: Kind) -> list[str]:
    mode, sce_flows, long = kind
    return [mode, str(sce_flows), f"{_LONG_MS:g} ms" if long else "to 20 ms"]


def _numbers(pairs: Sequence[Sequence[Cell]]) -> list[str]:
    outside = chance = summed = 0
    errors = []
    for flows in pairs:
        ours, theirs = sum(cell.ours for cell in flows), sum(cell.theirs for cell in flows)
        errors.append((ours - theirs) / float(flows[0].key["bandwidth_mbit"]))
        for cell in flows:
            if cell.within:
                continue
            outside += 1
            if abs(cell.ours * theirs / ours - cell.theirs) <= cell.allowed + ROUNDING:
                summed += 1
            elif cell.low - cell.allowed <= cell.theirs <= cell.high + cell.allowed:
                chance += 1
    values = sum(len(flows) for flows in pairs)
    return [*map(str, (values, outside, summed, chance, outside - summed - chance)), percent(sum(errors) / len(errors), 2)]
