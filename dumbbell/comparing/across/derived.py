"""Columns that are computed of the series when they are asked for. No index has them: reading the series of all runs takes long."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dumbbell import metrics
from dumbbell.comparing.across.coordinates import RunSet
from dumbbell.comparing.across.observations import GROUP_COLUMNS, Observation
from dumbbell.errors import DamagedRun
from dumbbell.results import asked_flows, leave_out
from dumbbell.results.bottleneck import BOTTLENECK_METRICS, bottleneck_metrics
from dumbbell.results.columns import COLUMNS
from dumbbell.results.received import common_step_s, end_to_end, rates_mbit
from dumbbell.results.windowed import measured_window

if TYPE_CHECKING:
    from dumbbell.results import Run

JAIN_BY_STEP = "jain_by_step"
_DERIVED: Mapping[str, tuple[str, ...]] = {"run": (JAIN_BY_STEP, *BOTTLENECK_METRICS)}
"""Kind of row -> its columns of this kind."""
ALL_COLUMNS: Mapping[str, tuple[str, ...]] = {per: (*columns, *_DERIVED.get(per, ())) for per, columns in COLUMNS.items()}
"""Kind of row -> all columns that may be asked for."""
TABLE_COLUMNS: Mapping[str, Sequence[str]] = {**ALL_COLUMNS, "group": GROUP_COLUMNS}
"""Kind of row -> its columns in a table. A group also has the columns of its flows."""


def derived(found: Sequence[Observation], sources: Sequence[RunSet], columns: Collection[str]) -> Sequence[Observation]:
    """Return the observations with those of these columns that have to be computed. A damaged run has no value, with a warning."""
    wanted = {JAIN_BY_STEP, *BOTTLENECK_METRICS}.intersection(columns)
    if not wanted:
        return found
    opened = [(source, run) for source in sources for run in source.runs]
    values: list[dict[str, float]] = []
    for each in found:
        source, outline = opened[each.run]
        try:
            run = source.opened(outline)
            of_run = {JAIN_BY_STEP: jain_by_step(run)} if JAIN_BY_STEP in wanted else {}
            if wanted - {JAIN_BY_STEP}:
                of_run |= bottleneck_metrics(run, measured_window(run) if source.window.is_whole else source.window)
            values.append(of_run)
        except DamagedRun as damage:
            leave_out(damage)
            values.append(dict.fromkeys(wanted, math.nan))
    return [
        replace(each, values={**each.values, **{name: value for name, value in of_run.items() if name in wanted}})
        for each, of_run in zip(found, values, strict=True)
    ]


def jain_by_step(run: Run) -> float:
    """Return the mean over steps of 0.2 s, or of the samples' interval if that is longer, of Jain's index of the bytes that the bulk flows
    received in the step.

    The steps begin with the run, and a flow counts in those that have any of its time. NaN if a flow has no samples, or none received
    anything.
    """
    sampled, rows = run.all_series("rx_bytes"), {str(row["flow"]): row for row in run.flows.rows()}
    names = list(asked_flows(run))
    if not names or any(len(sampled.get((f"flow/{name}", "rx_bytes"), ((),))[0]) < 2 for name in names):
        return math.nan
    spans = [(rows[name]["start_ns"] / metrics.NS_PER_S, rows[name]["end_ns"] / metrics.NS_PER_S) for name in names]
    series = [sampled[f"flow/{name}", "rx_bytes"] for name in names]
    received = [end_to_end(each, *span, rows[name].get("rx_bytes")) for each, span, name in zip(series, spans, names, strict=True)]
    step_s = common_step_s(received)
    last_s = max(float(times[-1]) for times, _ in received)
    edges_s = np.arange(math.ceil(last_s / step_s - 1e-9) + 1, dtype=np.float64) * step_s
    found = metrics.jain_by_step(np.array([rates_mbit(each, *span, edges_s) for each, span in zip(received, spans, strict=True)]))
    known = found[np.isfinite(found)]
    return float(known.mean()) if known.size else math.nan
