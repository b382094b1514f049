"""The page's tables with dumbbell's, and tables of what the page shows in figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dumbbell import metrics
from dumbbell.comparing.tables import Cell, Table, fixed
from dumbbell.results.runs import Runs
from dumbbell.study.calibration import shown
from dumbbell_studies.ordering import correlation
from dumbbell_studies.ordering.conditions import CONGESTED, PRINTED, SECTIONS, VARIANCE, Condition, Level
from dumbbell_studies.ordering.controls import PROTOCOLS
from dumbbell_studies.ordering.formats import QUANTITIES
from dumbbell_studies.ordering.orders import orders_table
from dumbbell_studies.ordering.published import utilization
from dumbbell_studies.ordering.scenarios import NOBODY
from dumbbell_studies.ordering.trials import CAPACITY_BPS, Trial, Trials, interval, trials

if TYPE_CHECKING:
    from dumbbell.results import Run

LEVELS: Mapping[Level, Condition] = {**PRINTED, **VARIANCE, **CONGESTED}
"""Every row of the page, with numbers or without."""


def page_tables(runs: Sequence[Run]) -> dict[int, Table]:
    """The table of each section that has runs, by its number: dumbbell's, half the confidence interval, and the published values."""
    found = trials(runs)
    tables = {}
    for section, title in SECTIONS.items():
        levels = {level: condition for (number, level), condition in LEVELS.items() if number == section}
        if any((protocol, condition) in found.own for protocol in PROTOCOLS for condition in levels.values()):
            tables[section] = _section_table(section, title, levels, found)
    return tables


def _section_table(section: int, title: str, levels: Mapping[str, Condition], found: Trials) -> Table:
    rows: list[list[Cell]] = []
    for level, condition in levels.items():
        ours = {name: [trial.utilization for trial in found.own.get((name, condition), [])] for name in PROTOCOLS}
        published = {name: utilization().get((float(section), level, name)) for name in PROTOCOLS}
        rows.append([level, "dumbbell", *(fixed(float(np.mean(values)), 4) if values else None for values in ours.values())])
        if any(len(values) > 1 for values in ours.values()):
            rows.append(["", "± 95 %", *(_half(values) for values in ours.values())])
        if any(value is not None for value in published.values()):
            rows.append(["", "published", *(fixed(value, 4) for value in published.values())])
    return Table(f"Section {section}: {title}. Link utilisation", ["level", "", *PROTOCOLS], rows)


def _half(values: Sequence[float]) -> Cell:
    mean, low, _ = interval(values) if values else (0.0, 0.0, 0.0)
    return fixed(mean - low, 4) if len(values) > 1 else None


def summaries(runs: Sequence[Run]) -> Mapping[str, Table]:
    """Tables by name, of what there are runs of."""
    return (runs if isinstance(runs, Runs) else Runs(runs)).cached(_summaries)


def _summaries(runs: Runs) -> Mapping[str, Table]:
    made: Mapping[str, Callable[[Trials], Table]] = {
        "stability": stability_table,
        "background": background_table,
        "orders": orders_table,
        "correlations": correlation.table,
    }
    found = trials(runs)
    tables = {name: make(found) for name, make in made.items()}
    return {name: table for name, table in tables.items() if table.rows}


def stability_table(found: Trials) -> Table:
    """Means over seeds of the metrics of stability: one row per condition and protocol."""
    rows = []
    for condition in dict.fromkeys(condition for _, condition in found.own):
        for protocol in PROTOCOLS:
            if repeats := found.own.get((protocol, condition)):
                rows.append([condition.name, protocol, str(len(repeats)), *(_mean(repeats, value) for _, value in QUANTITIES.values())])
    return Table("Stability, means over seeds", ["condition", "protocol", "seeds", *(title for title, _ in QUANTITIES.values())], rows)


def background_table(found: Trials) -> Table:
    """Return the table of traffic without high-speed flows, in either direction."""
    rows = []
    for (protocol, condition), repeats in found.own.items():
        if protocol != NOBODY:
            continue
        for direction, several in (("forward", [t.bits for t in repeats]), ("reverse", [t.reverse_bits for t in repeats])):
            load = interval([float(np.mean(bits)) / 1e6 for bits in several])
            left = interval([metrics.available_variation(bits, CAPACITY_BPS) for bits in several])
            rows.append(
                [
                    condition.name,
                    direction,
                    str(len(repeats)),
                    *map(shown, (load, left)),
                ]
            )
    heads = ["condition", "direction", "seeds", "load (Mbit/s)", "CoV of what is left"]
    return Table("Without high-speed flows", heads, rows)


def _mean(repeats: Sequence[Trial], value: Callable[[Trial], float]) -> str:
    values = [number for trial in repeats if np.isfinite(number := value(trial))]
    return f"{np.mean(values):.4f}" if values else ""
