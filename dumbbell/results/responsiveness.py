"""The responsiveness of a run that has its traffic: bulk flows of the group `rpm-load` and an exchange called `rpm-foreign`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dumbbell import metrics
from dumbbell.metrics.responsiveness import Responsiveness, responsiveness

if TYPE_CHECKING:
    from dumbbell.results.run import Run

LOAD, FOREIGN = "rpm-load", "rpm-foreign"
"""Names of the load-generating flows, and of the exchange whose connections carry one request each."""


def measured_rpm(run: Run) -> float:
    """Round trips per minute; NaN for a run without that traffic, or without its samples."""
    found = measured(run)
    return math.nan if found is None else found.rpm


def measured(run: Run) -> Responsiveness | None:
    """The responsiveness with its confidence; None for a run without that traffic."""
    groups = {str(name): str(group) for name, group in zip(run.flows.names, run.flows.column("group"), strict=True)}
    if not {LOAD, FOREIGN} <= set(groups.values()):
        return None
    rows = {str(row["flow"]): row for row in run.flows.rows() if row.get("group") == FOREIGN}
    series = run.all_series("rx_bytes", "srtt_ms", "latency_ms")

    def of(group: str, name: str) -> dict[str, metrics.Series]:
        found = {entity.removeprefix("flow/"): values for (entity, own), values in series.items() if own == name}
        return {flow: values for flow, values in found.items() if groups.get(flow) == group}

    loads = of(LOAD, "rx_bytes")
    if not loads:
        return None
    times = np.unique(np.concatenate([t_s for t_s, _ in loads.values()]))
    together = np.sum([np.interp(times, *each, left=0.0) for each in loads.values()], axis=0)
    firsts = [(flow, float(t_s[0]), float(values[0])) for flow, (t_s, values) in of(FOREIGN, "latency_ms").items() if len(t_s)]
    ends = np.array([t_s for _, t_s, _ in firsts])
    answered = np.array([value for *_, value in firsts])
    lives = np.array([1000 * t_s - rows[flow]["start_ns"] / 1e6 for flow, t_s, _ in firsts])
    stack = list(of(LOAD, "srtt_ms").values())
    rtts = (np.concatenate([t_s for t_s, _ in stack]), np.concatenate([values for _, values in stack])) if stack else (ends[:0], ends[:0])
    start_s = min(row["start_ns"] for row in run.flows.rows() if row.get("group") == LOAD) / metrics.NS_PER_S
    end_s = (run.plan or {}).get("duration_ns", 0) / metrics.NS_PER_S

    def since_start(t_s: metrics.Array, values: metrics.Array) -> metrics.Series:
        return t_s - start_s, values

    return responsiveness(
        since_start(times, together),
        since_start(ends, lives - answered),
        since_start(ends, answered),
        since_start(*rtts),
        end_s - start_s,
    )
