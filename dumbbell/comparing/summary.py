"""Tables of the standard metrics of runs, by flow or by run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dumbbell.comparing.tables import Table
from dumbbell.escaping import csv_text
from dumbbell.results import Run, schema
from dumbbell.results.summary import DATAGRAM_METRICS, FLOW_METRICS, GROUP_METRICS, REPORTED_METRICS, RUN_METRICS, Summarised


def summary_table(runs: Sequence[Summarised], title: str) -> Table:
    """One row per flow."""
    keys = _keys(runs)
    flows = _flows(runs, keys)
    there = [name for name in FLOW_METRICS if name not in REPORTED_METRICS or not all(math.isnan(values[name]) for _, _, values in flows)]
    rows = [[*cell, flow, *(_number(values[name]) for name in there)] for cell, flow, values in flows]
    return Table(title, [*keys, "flow", *there], rows)


def group_table(runs: Sequence[Summarised], title: str) -> Table:
    """One row per group of connections that come and go, or carry requests and responses."""
    keys = _keys(runs)
    rows = [
        [*(str(run.cell.get(key, "")) for key in keys), group, *(_number(values[name]) for name in GROUP_METRICS)]
        for run in runs
        for group, values in run.summary.groups.items()
    ]
    return Table(title, [*keys, "group", *GROUP_METRICS], rows)


def datagram_table(runs: Sequence[Summarised], title: str) -> Table:
    """One row per stream of datagrams that measures, without metrics that none has."""
    keys = _keys(runs)
    streams = [
        ([str(run.cell.get(key, "")) for key in keys], name, values) for run in runs for name, values in run.summary.datagrams.items()
    ]
    there = [metric for metric in DATAGRAM_METRICS if not all(math.isnan(values[metric]) for _, _, values in streams)]
    rows = [[*cell, name, *(_number(values[metric]) for metric in there)] for cell, name, values in streams]
    return Table(title, [*keys, "stream", *there], rows)


def tin_table(runs: Sequence[Run], title: str) -> Table:
    """One row per tin of a cake that has several, or keywords that few use, without columns that none has."""
    keys = _keys(runs)
    tins = [([str(run.cell.get(key, "")) for key in keys], row) for run in runs for row in run.tins.rows()]
    there = [name for name, quantity in schema().tins.items() if quantity.is_number and any(name in row for _, row in tins)]
    rows = [[*cell, row["tin"], *(_number(row.get(name, math.nan)) for name in there)] for cell, row in tins]
    return Table(title, [*keys, "tin", *there], rows)


def run_table(runs: Sequence[Summarised], title: str) -> Table:
    """One row per run."""
    keys = _keys(runs)
    rows = [[*(str(run.cell.get(key, "")) for key in keys), *map(_number, run.summary.run.values())] for run in runs]
    return Table(title, [*keys, *RUN_METRICS], rows)


def summary_tidy(runs: Sequence[Summarised]) -> str:
    """CSV with one row per flow and metric."""
    keys = _keys(runs)
    rows = [[*keys, "flow", "metric", "value"]]
    for cell, flow, values in _flows(runs, keys):
        there = ((name, value) for name, value in values.items() if name not in REPORTED_METRICS or not math.isnan(value))
        rows += [[*cell, flow, name, _number(value)] for name, value in there]
    return csv_text(rows)


def _keys(runs: Sequence[Summarised]) -> list[str]:
    return list(dict.fromkeys(key for run in runs for key in run.cell))


def _flows(runs: Sequence[Summarised], keys: Sequence[str]) -> list[tuple[list[str], str, Mapping[str, float]]]:
    return [([str(run.cell.get(key, "")) for key in keys], flow, values) for run in runs for flow, values in run.summary.flows.items()]


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"
