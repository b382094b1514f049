"""Runs of the kernel compared with the simulator's runs of the same scenarios: goodput and mean smoothed RTT of each cell.

Values of a cell are means over its seeds, because the two engines draw different random numbers. The goodput of a cell is that of all
its flows together. How flows of one cell share it, which chance decides too, is a metric of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.comparing.agreement import percent
from dumbbell.comparing.tables import Table

if TYPE_CHECKING:
    from dumbbell.results import Run

GOODPUT, SRTT, SHARE = "goodput", "mean srtt", "goodput of each flow"
MEASURES: Mapping[str, float] = {GOODPUT: 0.02, SRTT: 0.05, SHARE: 0.05}
"""Metric -> the relative difference within which the engines agree."""
_JUDGED = (GOODPUT, SRTT)
_OF_FLOWS = {SHARE: "flow_goodput_mbit", SRTT: "srtt_mean_ms"}
"""Metric of single flows -> its name in a summary."""
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
    for metric, margin in MEASURES.items():
        errors = [_error(ours, theirs) for _, _, name, ours, theirs in found if name == metric]
        if errors:
            share = sum(each <= margin for each in errors) / len(errors)
            verdict = f"≥ {percent(TARGET, 0)}: {'met' if share >= TARGET else 'unmet'}" if metric in _JUDGED else ""
            spread = [percent(float(np.percentile(errors, q)), 2) for q in (50, 95)]
            rows.append([metric, f"{100 * margin:g} %", str(len(errors)), percent(share), verdict, *spread])
    heads = ["metric", "within", "values", "agree", "target", "median", "p95"]
    return Table("The kernel compared with the simulator", heads, rows)


def misses(kernel: Sequence[Run], sim: Sequence[Run]) -> Table:
    """Return the flows of cells in which the engines disagree, worst first."""
    rows = [
        (_error(ours, theirs), [cell, flow, metric, f"{ours:.4g}", f"{theirs:.4g}", percent(_error(ours, theirs), 2)])
        for cell, flow, metric, ours, theirs in compared(kernel, sim)
        if _error(ours, theirs) > MEASURES[metric]
    ]
    return Table("Misses", ["cell", "flow", "metric", "kernel", "simulator", "difference"], [row for _, row in sorted(rows, reverse=True)])


def _error(one: float, other: float) -> float:
    return abs(one - other) / abs(one) if one else float(one != other)


def _values(runs: Sequence[Run]) -> dict[tuple[_Cell, str, str], list[float]]:
    found: dict[tuple[_Cell, str, str], list[float]] = {}
    for run in runs:
        cell = tuple((name, str(value)) for name, value in run.cell.items() if name != "seed") or (("run", run.name),)
        for flow, measured in run.summary.flows.items():
            for metric, name in _OF_FLOWS.items():
                value = measured.get(name)
                if value is not None and np.isfinite(value):
                    found.setdefault((cell, flow, metric), []).append(float(value))
        ends_ns = [int(end or 0) for end in run.flows.column("end_ns")]
        if ends_ns and max(ends_ns) > 0:
            received = sum(int(count or 0) for count in run.flows.column("rx_bytes"))
            found.setdefault((cell, "all", GOODPUT), []).append(received * 8e3 / max(ends_ns))
    return found
