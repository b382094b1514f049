"""Runs of the kernel compared with the simulator's runs of the same scenarios: goodput and mean smoothed RTT of each flow of each cell.

Values of a cell are means over its seeds, because the two engines draw different random numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.comparing.agreement import percent
from dumbbell.comparing.tables import Table

if TYPE_CHECKING:
    from dumbbell.results import Run

MEASURES: Mapping[str, tuple[str, float]] = {"flow_goodput_mbit": ("goodput", 0.02), "srtt_mean_ms": ("mean srtt", 0.05)}
"""Metric of a flow -> its name in tables, and the relative difference within which the engines agree."""
TARGET = 0.90
"""Share of the cells in which the engines are to agree."""

_Cell = tuple[tuple[str, str], ...]


def compared(kernel: Sequence[Run], sim: Sequence[Run]) -> list[tuple[str, str, str, float, float]]:
    """Return what both engines measured: cell, flow, metric, the kernel's value and the simulator's. Flows without a value are left out."""
    one, other = _values(kernel), _values(sim)
    return [
        (
            ", ".join(f"{name} {value}" for name, value in cell),
            flow,
            metric,
            float(np.mean(values)),
            float(np.mean(other[cell, flow, metric])),
        )
        for (cell, flow, metric), values in one.items()
        if (cell, flow, metric) in other
    ]


def agreement(kernel: Sequence[Run], sim: Sequence[Run]) -> Table:
    """Return how many of the cells agree, by metric, with the median and the 95th percentile of the relative differences."""
    found, rows = compared(kernel, sim), []
    for metric, (title, margin) in MEASURES.items():
        errors = [_error(ours, theirs) for _, _, name, ours, theirs in found if name == metric]
        if errors:
            share = sum(each <= margin for each in errors) / len(errors)
            verdict = f"≥ {percent(TARGET, 0)}: {'met' if share >= TARGET else 'unmet'}"
            spread = [percent(float(np.percentile(errors, q)), 2) for q in (50, 95)]
            rows.append([title, f"{100 * margin:g} %", str(len(errors)), percent(share), verdict, *spread])
    heads = ["metric", "within", "flows of cells", "agree", "target", "median", "p95"]
    return Table("The kernel compared with the simulator", heads, rows)


def misses(kernel: Sequence[Run], sim: Sequence[Run]) -> Table:
    """Return the flows of cells in which the engines disagree, worst first."""
    rows = [
        (_error(ours, theirs), [cell, flow, MEASURES[metric][0], f"{ours:.4g}", f"{theirs:.4g}", percent(_error(ours, theirs), 2)])
        for cell, flow, metric, ours, theirs in compared(kernel, sim)
        if _error(ours, theirs) > MEASURES[metric][1]
    ]
    return Table("Misses", ["cell", "flow", "metric", "kernel", "simulator", "difference"], [row for _, row in sorted(rows, reverse=True)])


def _error(one: float, other: float) -> float:
    return abs(one - other) / abs(one) if one else float(one != other)


def _values(runs: Sequence[Run]) -> dict[tuple[_Cell, str, str], list[float]]:
    found: dict[tuple[_Cell, str, str], list[float]] = {}
    for run in runs:
        cell = tuple((name, str(value)) for name, value in run.cell.items() if name != "seed") or (("run", run.name),)
        for flow, measured in run.summary.flows.items():
            for metric in MEASURES:
                value = measured.get(metric)
                if value is not None and np.isfinite(value):
                    found.setdefault((cell, flow, metric), []).append(float(value))
    return found
