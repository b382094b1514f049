"""Columns that are computed of the series when they are asked for. No index has them: reading the series of all runs takes long."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dumbbell import metrics
from dumbbell.comparing.across.coordinates import RunSet, everywhere
from dumbbell.comparing.across.observations import GROUP_COLUMNS, Observation
from dumbbell.errors import DamagedRun
from dumbbell.results import asked_flows, leave_out
from dumbbell.results.columns import COLUMNS
from dumbbell.results.rates import RATES, names, rates
from dumbbell.results.received import common_step_s, end_to_end, rates_mbit
from dumbbell.results.windowed import measured_window

if TYPE_CHECKING:
    from dumbbell.results import Run

JAIN_BY_STEP = "jain_by_step"
_DERIVED: Mapping[str, tuple[str, ...]] = {**RATES, "run": (JAIN_BY_STEP, *RATES["run"])}
"""Kind of row -> its columns of this kind."""
ALL_COLUMNS: Mapping[str, tuple[str, ...]] = {per: tuple(dict.fromkeys((*COLUMNS.get(per, ()), *_DERIVED.get(per, ())))) for per in COLUMNS}
"""Kind of row -> all columns that may be asked for."""
TABLE_COLUMNS: Mapping[str, Sequence[str]] = {**RATES, **ALL_COLUMNS, "group": tuple(dict.fromkeys((*GROUP_COLUMNS, *_DERIVED["group"])))}
"""Kind of row -> its columns in a table, also of ports and classes, which have no others. A group also has the columns of its flows."""


def derived(found: Sequence[Observation], sources: Sequence[RunSet], per: str, columns: Collection[str]) -> Sequence[Observation]:
    """Return the observations of a kind of row with those of these columns that have to be computed.

    A damaged run has no value, with a warning.
    """
    wanted = set(_DERIVED.get(per, ())).intersection(columns)
    if not wanted:
        return found
    opened = [(source, run) for source in sources for run in source.runs]
    of_runs: dict[int, Mapping[str, Mapping[str, float]]] = {}
    for number in dict.fromkeys(each.run for each in found):
        source, outline = opened[number]
        try:
            run = source.opened(outline)
            rows: dict[str, dict[str, float]] = {"": {}}
            if wanted - {JAIN_BY_STEP}:
                rows |= rates(run, per, measured_window(run) if source.window.is_whole else source.window)
            if JAIN_BY_STEP in wanted:
                rows[""][JAIN_BY_STEP] = jain_by_step(run)
            of_runs[number] = rows
        except DamagedRun as damage:
            leave_out(damage)
            of_runs[number] = {}
    return [replace(each, values={**each.values, **_chosen(of_runs[each.run], per, each, wanted)}) for each in found]


def computed(run: Run, per: str, column: str) -> dict[str, float] | None:
    """Return a column that has to be computed, by the name of the flow, group or the run (empty); None if it is no such column."""
    if column not in _DERIVED.get(per, ()):
        return None
    if column == JAIN_BY_STEP:
        return {"": jain_by_step(run)}
    return {name: row[column] for name, row in rates(run, per, measured_window(run)).items()}


def _chosen(rows: Mapping[str, Mapping[str, float]], per: str, each: Observation, wanted: Collection[str]) -> dict[str, float]:
    """Return the values of an observation; a column that both have stays what it was."""
    row = rows.get("" if per == "run" else str(each.at.get(per, "")), {})
    return {name: row.get(name, math.nan) for name in wanted if math.isnan(each.values.get(name, math.nan))}


def observed(sources: Sequence[RunSet], per: str) -> list[Observation]:
    """Return a row for each port or class of each run, without values."""
    opened = [(source, cell, run) for source in sources for cell, run in source.placed()]
    return [
        Observation(number, {per: name, **everywhere(source, cell, outline)})
        for number, (source, cell, outline) in enumerate(opened)
        for name in names(source.opened(outline), per)
    ]


def jain_by_step(run: Run) -> float:
    """Return the mean over steps of 0.2 s, or of the samples' interval if that is longer, of Jain's index of the bytes that the bulk flows
    received in the step.

    The steps begin with the run, and a flow counts in those that have any of its time. NaN if a flow has no samples, or none received
    anything.
    """
    sampled, rows = run.all_series("rx_bytes"), {str(row["flow"]): row for row in run.flows.rows()}
    flows = list(asked_flows(run))
    if not flows or any(len(sampled.get((f"flow/{name}", "rx_bytes"), ((),))[0]) < 2 for name in flows):
        return math.nan
    spans = [(rows[name]["start_ns"] / metrics.NS_PER_S, rows[name]["end_ns"] / metrics.NS_PER_S) for name in flows]
    series = [sampled[f"flow/{name}", "rx_bytes"] for name in flows]
    received = [end_to_end(each, *span, rows[name].get("rx_bytes")) for each, span, name in zip(series, spans, flows, strict=True)]
    step_s = common_step_s(received)
    last_s = max(float(times[-1]) for times, _ in received)
    edges_s = np.arange(math.ceil(last_s / step_s - 1e-9) + 1, dtype=np.float64) * step_s
    found = metrics.jain_by_step(np.array([rates_mbit(each, *span, edges_s) for each, span in zip(received, spans, strict=True)]))
    known = found[np.isfinite(found)]
    return float(known.mean()) if known.size else math.nan
