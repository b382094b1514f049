"""Window traces: in which samples a bulk flow has the window that it has in the reference, where nothing is left to chance."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.agreement.measures import scenario_flows
from dumbbell.agreement.space import left_to_chance
from dumbbell.metrics import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dumbbell.agreement.comparison import Comparison
    from dumbbell.results import Run
    from dumbbell.scenario import Scenario

FIRST_S = 30.0
"""The time from a flow's start over which its windows are compared."""
_ONE_IN = 50
"""Windows agree if they differ by no more than one in so many packets (2 %), so that windows of fewer must be equal."""
DEFINITIONS = {
    "within": (
        f"share of the samples of the window in the flow's first {FIRST_S:g} s that are within 2 % of the reference's at the same time. "
        "Windows are whole packets: below 50 packets this means the same window. A sample that one engine alone has is not within"
    ),
    "within_or_one": "the same where a difference of one packet counts as within as well",
    "first_s": "time from the flow's start of the first sample at which the windows are not the same",
}
"""The columns of the traces, over the samples of all starts of a scenario."""


@dataclass(frozen=True)
class Trace:
    """The windows of one scenario's bulk flow on two engines."""

    scenario: str
    starts: int
    samples: int
    """Number of samples that either engine has."""
    within: float
    within_or_one: float
    first_s: float | None
    """The earliest of its starts; None if all samples are the same."""

    def as_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dict(vars(self))


def has_trace(scenario: Scenario) -> bool:
    """True if it has a single bulk flow, and draws no random numbers."""
    return sum(flow.count for flow in scenario.flows) == 1 and not left_to_chance(scenario)


def traces(compared: Comparison) -> list[Trace]:
    """Return the trace of each scenario that has one, in order. Scenarios without a sample are left out, and all if an engine samples in
    real time."""
    if compared.in_real_time:
        return []
    pairs: dict[str, list[tuple[Run, Run]]] = {}
    for reference, ours in compared.pairs:
        pairs.setdefault(reference.name, []).append((reference, ours))
    found = (trace(scenario.name, pairs.get(scenario.name, [])) for scenario in compared.scenario_set.scenarios if has_trace(scenario))
    return [each for each in found if each is not None]


def trace(scenario: str, pairs: Sequence[tuple[Run, Run]]) -> Trace | None:
    """Return the trace from (reference, dumbbell) of each start of a scenario with one bulk flow; None without samples."""
    counts, first = np.zeros(3, dtype=int), math.inf
    for reference, ours in pairs:
        (entity,) = scenario_flows(reference)
        start_ns = reference.counters[entity]["start_ns"]
        t_ns, theirs, mine = _aligned(_windows(reference, entity, start_ns), _windows(ours, entity, start_ns))
        apart = np.abs(mine - theirs)
        within = apart * _ONE_IN <= theirs  # False where one of them is NaN
        counts += [t_ns.size, np.count_nonzero(within), np.count_nonzero(within | (apart <= 1))]
        if (other := t_ns[~(mine == theirs)]).size:
            first = min(first, float(other[0] - start_ns) / NS_PER_S)
    samples, near, nearly = map(int, counts)
    if not samples:
        return None
    return Trace(scenario, len(pairs), samples, near / samples, nearly / samples, first if math.isfinite(first) else None)


def summary(found: Sequence[Trace], few: Collection[str] = ()) -> dict[str, Any]:
    """Summarise all scenarios, as plain data: medians over them, and each of them. `few` names those that stand apart as well, see
    `shallow`."""
    if not found:
        return {"scenarios": 0, "each": []}
    firsts = [math.inf if each.first_s is None else each.first_s for each in found]
    first_s = median(firsts)
    return {
        **_medians(found),
        "first_s": first_s if math.isfinite(first_s) else None,
        "same": sum(each.first_s is None for each in found),
        "few": _medians([each for each in found if each.scenario in few]),
        "others": _medians([each for each in found if each.scenario not in few]),
        "each": [each.as_json() for each in found],
    }


def _medians(found: Sequence[Trace]) -> dict[str, Any]:
    if not found:
        return {"scenarios": 0}
    within, within_or_one = (median(getattr(each, name) for each in found) for name in ("within", "within_or_one"))
    return {"scenarios": len(found), "within": within, "within_or_one": within_or_one}


_Samples = tuple["NDArray[np.int64]", "NDArray[np.float64]"]


def _windows(run: Run, entity: str, start_ns: int) -> _Samples:
    """Times (ns) and windows (packets), each of shape (samples,), while the flow is active and has an RTT.

    Before the first RTT sample a socket is not connected, and the engines report different windows for it.
    """
    import polars as pl

    counters = run.counters[entity]
    end_ns = min(counters["start_ns"] + counters["active_ns"], start_ns + int(FIRST_S * NS_PER_S))
    own = run.frame.filter((pl.col("entity") == entity) & pl.col("t_ns").is_between(start_ns, end_ns) & pl.col("value").is_finite())
    cwnd, srtt = (own.filter(pl.col("series") == name) for name in ("cwnd", "srtt_ms"))
    known = cwnd.join(srtt, on="t_ns", how="semi").sort("t_ns")
    return known["t_ns"].to_numpy(), known["value"].to_numpy()


def _aligned(theirs: _Samples, ours: _Samples) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """The times of both, and the values of each at these times, NaN where it has none."""
    t_ns = np.union1d(theirs[0], ours[0])
    values = np.full((2, t_ns.size), np.nan)
    for row, (times, sampled) in zip(values, (theirs, ours), strict=True):
        row[np.searchsorted(t_ns, times)] = sampled
    return t_ns, values[0], values[1]
