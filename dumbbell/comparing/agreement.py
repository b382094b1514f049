"""Tables of a difference: agreement by metric, and the cells outside the tolerance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dumbbell.comparing.difference import Cell, Difference, MetricDifference, judged_share, meets, share
from dumbbell.comparing.format import Format, KeyValue, Metric, title_of
from dumbbell.comparing.tables import Table


def agreement_table(found: Difference, format_: Format, title: str) -> Table:
    """One row per metric, and a second one for its informative cells if not all are informative. Targets are shown as met or unmet."""
    spread = any(cell.chaotic and cell.repeats > 1 for cell in found.cells)
    metrics = [format_.metrics[name] for name in found.metrics]
    barred = any(bar is not None for metric in metrics for bar in (metric.bar, metric.informative_bar))
    rows: list[list[str]] = []
    for name, compared in found.metrics.items():
        metric = format_.metrics[name]
        label = _titled(metric)
        missing = str(compared.expected - len(compared.cells))
        own = compared.tolerance == metric.tolerance
        tolerance = metric.tolerance_words if own else compared.tolerance.words(metric.unit)
        bar, informative_bar = (
            ([_bar(compared.cells, metric.bar)], [_bar(compared.informative, metric.informative_bar)]) if barred else ([], [])
        )
        rows.append([label, tolerance, *_row(compared, compared.cells, missing, spread, bar)])
        if metric.informative_rule:
            rows.append([metric.informative_rule, "", *_row(compared, compared.informative, "", spread, informative_bar)])
    within = ["within", *(["or in the spread of seeds"] if spread else []), *(["target"] if barred else [])]
    return Table(title, ["metric", "tolerance", "cells", "missing", *within, "median abs", "p95 abs", "median rel", "p95 rel"], rows)


def worst_table(found: Difference, title: str = "Worst cells") -> Table:
    """The cells with the largest differences, in units of the tolerance."""
    return cells_table(found.worst, title)


def cells_table(cells: Sequence[Cell], title: str) -> Table:
    """One row per cell."""
    keys = list(cells[0].key) if cells else []
    repeated, noted = any(cell.repeats > 1 for cell in cells), any(map(_notes, cells))
    rows = [
        [
            *(text_of(cell.key[key]) for key in keys),
            title_of(cell.metric),
            f"{cell.ours:.4g}",
            f"{cell.theirs:.4g}",
            f"{cell.error:+.3g}",
            f"{cell.error_in_tolerances:.1f}",
            *([f"{cell.low:.4g} to {cell.high:.4g}"] if repeated else []),
            *([_notes(cell)] if noted else []),
        ]
        for cell in cells
    ]
    further = (["range over seeds"] if repeated else []) + (["note"] if noted else [])
    return Table(title, [*map(title_of, keys), "metric", "dumbbell", "reference", "error", "in tolerances", *further], rows)


def breakdown_table(found: Difference, format_: Format, column: str) -> Table:
    """One row per value of a key column: for each metric, share within tolerance (all cells, informative cells) and mean error."""
    values = list(dict.fromkeys(cell.key[column] for cell in found.cells))
    rows = []
    for value in values:
        numbers: list[str] = []
        for name in format_.metrics:
            cells = [cell for cell in found.cells if cell.metric == name and cell.key[column] == value]
            numbers += breakdown_numbers(cells, format_.metrics[name])
        rows.append([text_of(value), *numbers])
    return Table(f"By {title_of(column)}", [title_of(column), *breakdown_heads(format_)], rows)


def spread_table(found: Difference, format_: Format) -> Table:
    """The range of dumbbell's values over seeds: one row per metric and value of the first key column."""
    column = format_.keys[0]
    rows = []
    for name, metric in format_.metrics.items():
        repeated = [cell for cell in found.cells_of(name) if cell.repeats > 1]
        for value in dict.fromkeys(cell.key[column] for cell in repeated):
            cells = [cell for cell in repeated if cell.key[column] == value]
            ranges = sorted(cell.range for cell in cells)
            beyond = share(cells, lambda cell: cell.range > cell.allowed)
            numbers = [_number(float(np.percentile(ranges, q))) for q in (50, 95, 100)]
            rows.append([_titled(metric), text_of(value), str(cells[0].repeats), str(len(cells)), *numbers, percent(beyond)])
    heads = ["metric", title_of(column), "seeds", "cells", "median", "p95", "maximum", "beyond the tolerance"]
    return Table(f"Range over the seeds of dumbbell ({format_.name})", heads, rows)


def breakdown_heads(format_: Format) -> list[str]:
    """Column titles of `breakdown_numbers`, metric by metric."""
    heads: list[str] = []
    for metric in format_.metrics.values():
        heads += [f"{metric.title}: within", *(["informative"] if metric.informative_rule else []), "mean error"]
    return heads


def breakdown_numbers(cells: Sequence[Cell], metric: Metric) -> list[str]:
    """Share within tolerance, the same for informative cells if not all are, and the mean error, relative to the key column on which the
    tolerance depends or else to the reference value."""
    column = metric.tolerance.of_column
    errors = [abs(cell.error) / float(cell.key[column[0]]) if column else cell.relative for cell in cells]
    informative = [cell for cell in cells if cell.informative]
    return [
        percent(share(cells, lambda cell: cell.within)),
        *([percent(share(informative, lambda cell: cell.within))] if metric.informative_rule else []),
        percent(sum(errors) / len(errors) if errors else None, 2),
    ]


def every_cell_table(found: Difference, format_: Format, title: str) -> Table:
    """One row per cell, one column per metric: reference value and dumbbell's relative difference, with a cross if outside the
    tolerance."""
    rows = []
    for group in found.by_key:
        by_metric = {cell.metric: cell for cell in group}
        verdict = "pass" if all(cell.within for cell in group) else "FAIL"
        rows.append([*map(text_of, group[0].key.values()), verdict, *(_beside(by_metric.get(name)) for name in found.metrics)])
    titles = [_titled(format_.metrics[name]) for name in found.metrics]
    return Table(title, [*map(title_of, format_.keys), "", *titles], rows)


def _beside(cell: Cell | None) -> str:
    if cell is None:
        return "-"
    change = f"{cell.error:+.3g}" if cell.theirs == 0 else f"{round(100 * cell.error / cell.theirs, 1) + 0.0:+.1f}%"
    theirs = f"{cell.theirs:.0f}" if cell.theirs >= 1000 else f"{cell.theirs:.4g}"
    return f"{theirs} {change}{'' if cell.within else ' ✗'}"


def text_of(value: KeyValue) -> str:
    """A key value as text for tables: numbers without trailing zeros."""
    return value if isinstance(value, str) else f"{value:g}"


def percent(value: float | None, decimals: int = 1) -> str:
    """A share as a percentage; a dash for None."""
    return "-" if value is None else f"{100 * value:.{decimals}f} %"


def _notes(cell: Cell) -> str:
    return "; ".join((["chaotic"] if cell.chaotic else []) + ([f"reference: {cell.fault}"] if cell.fault else []))


def _bar(cells: Sequence[Cell], bar: float | None) -> str:
    return "" if bar is None else f"≥ {100 * bar:g} %: {'met' if meets(judged_share(cells), bar) else 'unmet'}"


def _row(compared: MetricDifference, cells: Sequence[Cell], missing: str, spread: bool, bar: Sequence[str]) -> list[str]:
    data = replace(compared, cells=tuple(cells)).as_json()
    return [
        str(len(cells)),
        missing,
        percent(data["share_within"]),
        *([percent(data["share_within_spread"])] if spread else []),
        *bar,
        _number(data["median_abs"]),
        _number(data["p95_abs"]),
        percent(data["median_rel"], 2),
        percent(data["p95_rel"], 2),
    ]


def _titled(metric: Metric) -> str:
    return f"{metric.title} ({metric.unit})" if metric.unit else metric.title


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
