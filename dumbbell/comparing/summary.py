"""Tables of the standard metrics of runs, by flow or by run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache

from dumbbell.comparing.tables import Table, Value, as_text
from dumbbell.escaping import csv_text
from dumbbell.results import Run, schema
from dumbbell.results.schema import whole
from dumbbell.results.summary import DATAGRAM_METRICS, FLOW_METRICS, GROUP_METRICS, REPORTED_METRICS, RUN_METRICS, Summarised
from dumbbell.results.tables import KEYS

_RARE = "responsiveness_rpm"
"""The metric of runs that few runs have the traffic for."""


def summary_table(runs: Sequence[Summarised], title: str) -> Table:
    """One row per flow."""
    flows = _flows(runs)
    there = [name for name in FLOW_METRICS if name not in REPORTED_METRICS or not all(math.isnan(values[name]) for *_, values in flows)]
    return _table(title, runs, "flow", there, flows)


def group_table(runs: Sequence[Summarised], title: str) -> Table:
    """One row per group of connections that come and go, or carry requests and responses."""
    groups = [(run, group, values) for run in runs for group, values in run.summary.groups.items() if not math.isnan(values["connections"])]
    return _table(title, runs, "group", GROUP_METRICS, groups)


def datagram_table(runs: Sequence[Summarised], title: str) -> Table:
    """One row per stream of datagrams that measures, without metrics that none has."""
    streams = [(run, name, values) for run in runs for name, values in run.summary.datagrams.items()]
    there = [metric for metric in DATAGRAM_METRICS if not all(math.isnan(values[metric]) for *_, values in streams)]
    return _table(title, runs, "stream", there, streams)


def tin_table(runs: Sequence[Run], title: str) -> Table:
    """One row per tin of a cake that has several, or keywords that few use, without columns that none has."""
    tins = [(run, str(row["tin"]), row) for run in runs for row in run.tins.rows()]
    there = [name for name, quantity in schema().tins.items() if quantity.is_number and any(name in row for *_, row in tins)]
    return _table(title, runs, "tin", there, tins)


def run_table(runs: Sequence[Summarised], title: str) -> Table:
    """One row per run. The responsiveness is a column only if a run has one."""
    keys = _keys(runs)
    there = [name for name in RUN_METRICS if name != _RARE or not all(math.isnan(run.summary.run[name]) for run in runs)]
    rows = [[*_cell(run, keys), *_values(there, run.summary.run)] for run in runs]
    return Table(title, [*keys, *there], rows, len(keys))


def summary_tidy(runs: Sequence[Summarised]) -> str:
    """CSV with one row per flow and metric."""
    keys = _keys(runs)
    rows = [[*keys, "flow", "metric", "value"]]
    for run, flow, values in _flows(runs):
        there = ((name, value) for name, value in values.items() if name not in REPORTED_METRICS or not math.isnan(value))
        rows += [[*map(as_text, _cell(run, keys)), flow, name, as_text(value)] for name, value in there]
    return csv_text(rows)


def _table(
    title: str,
    runs: Sequence[Summarised],
    what: str,
    columns: Sequence[str],
    rows: Sequence[tuple[Summarised, str, Mapping[str, float]]],
) -> Table:
    """A row for each flow, group, stream or tin, with the coordinates of its run."""
    keys = _keys(runs)
    listed = [[*_cell(run, keys), name, *_values(columns, values)] for run, name, values in rows]
    return Table(title, [*keys, what, *columns], listed, len(keys) + 1)


def _values(columns: Sequence[str], values: Mapping[str, float]) -> list[Value]:
    """Return the values of a row: counts as whole numbers, NaN for missing ones."""
    found = [values.get(column, math.nan) for column in columns]
    return [int(value) if column in _counts() and not math.isnan(value) else value for column, value in zip(columns, found, strict=True)]


@cache
def _counts() -> frozenset[str]:
    """The columns of whole numbers."""
    return frozenset({"flows", "drops"}.union(*map(whole, KEYS)))


def _cell(run: Summarised, keys: Sequence[str]) -> list[Value]:
    return [run.cell.get(key, "") for key in keys]


def _keys(runs: Sequence[Summarised]) -> list[str]:
    return list(dict.fromkeys(key for run in runs for key in run.cell))


def _flows(runs: Sequence[Summarised]) -> list[tuple[Summarised, str, Mapping[str, float]]]:
    return [(run, flow, values) for run in runs for flow, values in run.summary.flows.items()]
