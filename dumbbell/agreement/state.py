"""State on two engines: what congestion controls and queue disciplines keep, by sample where nothing is left to chance, else by means.

The set `state` has scenarios of one bulk flow whose congestion control tells Linux something (`get_info`), and for every fifth one whose
queue discipline draws random numbers or keeps a law (pie, red, codel): of these drops, marks and probability are compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell import metrics
from dumbbell.agreement.draw import Draw
from dumbbell.agreement.qdiscs import with_defaults
from dumbbell.agreement.shared import Shared
from dumbbell.agreement.space import jitter, left_to_chance, round_to_3, run_seconds
from dumbbell.catalogue import states
from dumbbell.errors import BadInput
from dumbbell.scenario import Scenario
from dumbbell.scenario.units import FRAME_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dumbbell.results import Run

SET = "state"
CONTROLS = ("dctcp", "bbr", "vegas", "yeah", "illinois", "westwood", "nv")
"""Congestion controls that tell Linux's inet_diag something."""
_BY_PATCH = ("cubic",)
"""Congestion controls that tell something on a kernel of `kernel build --with state`."""
LAWS = ("pie", "red", "codel")
"""Queue disciplines whose drops, marks and probability are compared."""
_DETERMINISTIC = ("pfifo", "bfifo", "codel", "fq_codel")
_EVERY = 5
"""One in so many scenarios brings one of a discipline with it."""
_KBIT, _RTT_MS, _QUEUE = (1_000, 50_000), (5, 150), (0.3, 3)
_MOST_S = 20
_NEAR = 0.02
_TOTALS = ("drops", "ce_marks")
"""Series of a port that a discipline's decisions end in."""
DEFINITIONS = {
    "within": (
        "share of the samples that are within 2 % of the reference's at the same time. A sample that one engine alone has is not within"
    ),
    "means apart": "relative difference of the means over the run and the starts (of drops and marks: of the totals)",
    "by chance": "scenarios with several starts in which the 95 % interval of the difference has 0 in it",
}


def scenarios(seed: int, count: int, shared: Shared, starts: int, ccs: Sequence[str] | None) -> list[Scenario]:
    """Return the drawn scenarios of a seed.

    Raises `BadInput` if the engines share no congestion control that tells something.
    """
    controls = tuple(each for each in (ccs or CONTROLS) if each in shared.cc)
    if not controls or any(each not in (*CONTROLS, *_BY_PATCH) for each in controls):
        raise BadInput(f"--cc: expected congestion controls that tell the kernel's inet_diag something: {', '.join(CONTROLS)}")
    found = []
    for index in range(count):
        found.append(_of_control(seed, index, shared, controls))
        if index % _EVERY == 0 and (laws := [each for each in LAWS if each in shared.qdisc]):
            found.append(_of_law(seed, index, shared, laws[index // _EVERY % len(laws)], starts))
    return found


def _path(draw: Draw, shared: Shared, kind: str) -> tuple[dict[str, Any], int, int]:
    """Return a path with a queue of this kind, its rate in kbit/s and its RTT in us."""
    kbit, rtt_us = round_to_3(draw.log("rate", *_KBIT)), 100 * round(10 * draw.log("rtt", *_RTT_MS))
    packets = max(20, round(draw.log("queue", *_QUEUE) * kbit * rtt_us / 1000 / 8 / FRAME_BYTES))
    bottleneck = {"rate": f"{kbit}kbit", "shaper": draw.choice("shaper", shared.shapers(kind)), "qdisc": with_defaults(kind, packets)}
    return {"rtt": f"{rtt_us}us", "bottleneck": bottleneck}, kbit, rtt_us


def _of_control(seed: int, index: int, shared: Shared, controls: Sequence[str]) -> Scenario:
    """One bulk flow; congestion controls take turns."""
    draw = Draw("agree", SET, seed, index)
    cc = controls[index % len(controls)]
    kind = draw.choice("qdisc", [each for each in _DETERMINISTIC if each in shared.qdisc])
    path, kbit, _ = _path(draw, shared, kind)
    if cc == "dctcp" and kind in ("codel", "fq_codel"):
        path["bottleneck"]["qdisc"] |= {"ecn": True, "ce_threshold": draw.choice("threshold", ("1ms", "2ms", "5ms"))}
    return _made(f"state-{seed}-{index:03d}-{cc}", path, {"cc": cc}, min(run_seconds(kbit), _MOST_S))


def _of_law(seed: int, index: int, shared: Shared, kind: str, starts: int) -> Scenario:
    """Several flows through a discipline that decides by a law, with jittered starts."""
    draw = Draw("agree", SET, "law", seed, index)
    path, kbit, rtt_us = _path(draw, shared, kind)
    path["bottleneck"]["qdisc"]["ecn"] = draw.chance("ecn", 0.5)
    flow = {
        "cc": draw.choice("cc", ("cubic", "reno")),
        "count": draw.choice("flows", (2, 4)),
        "ecn": path["bottleneck"]["qdisc"]["ecn"],
        "start": {"jitter": jitter(rtt_us)},
    }
    return _made(f"state-{seed}-{index:03d}-{kind}", path, flow, min(run_seconds(kbit), _MOST_S), repeat=starts)


def _made(name: str, path: Mapping[str, Any], flow: Mapping[str, Any], seconds: int, **more: Any) -> Scenario:
    settings = {"name": name, "path": path, "flows": [flow], "duration": f"{seconds}s", "series": ["control", "queue"], **more}
    return Scenario.model_validate(settings)


@dataclass(frozen=True)
class Variable:
    """A state variable, or a total of a discipline, in one scenario."""

    scenario: str
    owner: str
    """The congestion control or queue discipline."""
    variable: str
    starts: int
    samples: int
    within: float | None
    """None where the scenario leaves something to chance."""
    reference: float
    """Mean over the run and the starts, of totals at the end."""
    ours: float
    likely: bool | None = None
    """True if the 95 % interval of the difference over the starts has 0 in it; None with fewer than three starts."""

    @property
    def apart(self) -> float | None:
        """Difference of the means over the reference's; None if that is 0."""
        return abs(self.ours - self.reference) / abs(self.reference) if self.reference else None if self.ours else 0.0

    def as_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**vars(self), "apart": self.apart}


def variables(compared: Any) -> list[Variable]:
    """Return all variables that both engines tell, by scenario; none where samples are taken in real time or no state was recorded."""
    if compared.in_real_time:
        return []
    pairs: dict[str, list[tuple[Run, Run]]] = {}
    for reference, ours in compared.pairs:
        pairs.setdefault(reference.name, []).append((reference, ours))
    found: list[Variable] = []
    for scenario in compared.scenario_set.scenarios:
        if scenario.series.state and pairs.get(scenario.name):
            found += _of_scenario(scenario, pairs[scenario.name])
    return found


def _of_scenario(scenario: Scenario, pairs: Sequence[tuple[Run, Run]]) -> list[Variable]:
    (cc,) = {flow.cc.kind for flow in scenario.flows}
    assert scenario.path.bottleneck is not None
    kind = scenario.path.bottleneck.qdisc.kind
    exact = len(pairs) == 1 and not left_to_chance(scenario)
    names = {("flow", each.name): str(cc) for each in states("cc").get(str(cc), ())}
    names |= {("port", each): kind for each in (*_TOTALS, *(variable.name for variable in states("qdisc").get(kind, ())))}
    found = []
    for (what, variable), owner in names.items():
        taken = [each for pair in pairs if (each := _samples(pair, what, variable)) is not None]
        if not taken:
            continue
        joined = np.concatenate(taken, axis=1)
        theirs, ours = joined
        both = np.isfinite(theirs) & np.isfinite(ours)
        if not both.any() or not any(map(_has_both, taken)):
            continue
        within = float(np.mean(np.abs(ours - theirs) <= _NEAR * np.abs(theirs))) if exact else None
        each_start = np.array([each[:, -1] if variable in _TOTALS else np.nanmean(each, axis=1) for each in taken if _has_both(each)])
        reference, mine = each_start.mean(axis=0).tolist()
        likely = _has_zero(each_start[:, 1] - each_start[:, 0]) if len(each_start) > 2 else None
        found.append(Variable(scenario.name, owner, variable, len(taken), joined.shape[1], within, reference, mine, likely))
    return found


def _has_both(values: NDArray[np.float64]) -> bool:
    return bool(np.isfinite(values).any(axis=1).all())


def _has_zero(differences: NDArray[np.float64]) -> bool:
    """True if the 95 % interval of the mean has 0 in it, or if all differences are 0."""
    if np.ptp(differences) == 0:
        return bool(differences[0] == 0)
    _, low, high = metrics.confidence_interval(differences.tolist())
    return low <= 0 <= high


def _samples(pair: tuple[Run, Run], what: str, variable: str) -> NDArray[np.float64] | None:
    """Return the values of both runs at the times of either, shape (2, samples); None if one of them does not tell this variable."""
    import polars as pl

    sampled = []
    for run in pair:
        entity = "port/bottleneck" if what == "port" else pl.col("entity").str.starts_with("flow/")
        chosen = pl.col("entity") == entity if isinstance(entity, str) else entity
        own = run.frame.filter(chosen & (pl.col("series") == variable)).sort("t_ns")
        if own.is_empty():
            return None
        sampled.append(own)
    begin_ns = max(each["t_ns"][0] for each in sampled)
    theirs, ours = ((each["t_ns"].to_numpy(), each["value"].to_numpy()) for each in sampled)
    t_ns = np.union1d(theirs[0], ours[0])
    t_ns = t_ns[t_ns >= begin_ns]
    values = np.full((2, t_ns.size), np.nan)
    for row, (times, value) in zip(values, (theirs, ours), strict=True):
        there = times >= begin_ns
        row[np.searchsorted(t_ns, times[there])] = value[there]
    return values


def summary(found: Sequence[Variable]) -> dict[str, Any]:
    """Return all of them as plain data, with medians over scenarios for each owner and variable."""
    if not found:
        return {"scenarios": 0, "variables": [], "each": []}
    grouped: dict[tuple[str, str], list[Variable]] = {}
    for each in found:
        grouped.setdefault((each.owner, each.variable), []).append(each)
    rows = [_row(owner, variable, several) for (owner, variable), several in sorted(grouped.items())]
    exact = [each.within for each in found if each.within is not None and each.variable not in _TOTALS]
    return {
        "scenarios": len({each.scenario for each in found}),
        "within": median(exact) if exact else None,
        "whole": float(np.mean([each >= 1 - _NEAR for each in exact])) if exact else None,
        "variables": rows,
        "each": [each.as_json() for each in found],
    }


def _row(owner: str, variable: str, several: Sequence[Variable]) -> dict[str, Any]:
    shares = [each.within for each in several if each.within is not None]
    apart = [each.apart for each in several if each.apart is not None]
    return {
        "of": owner,
        "variable": variable,
        "scenarios": len(several),
        "within_median": median(shares) if shares else None,
        "within_least": min(shares) if shares else None,
        "mean_median": median(apart) if apart else None,
        "mean_most": max(apart) if apart else None,
        "likely": f"{sum(likely)} of {len(likely)}" if (likely := [each.likely for each in several if each.likely is not None]) else None,
    }
