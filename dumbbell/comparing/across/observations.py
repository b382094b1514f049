"""Values of many runs, each with what it is of: coordinates of the sweep, flow, group, engine ..."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell import metrics
from dumbbell.errors import BadInput, DamagedRun
from dumbbell.results import leave_out, schema
from dumbbell.results.columns import SEED
from dumbbell.results.summary import FLOW_METRICS, Summarised, Traits

if TYPE_CHECKING:
    from dumbbell.results import Run

Coordinate = str | int | float

FOLDER, ENGINE, NAME = "folder", "engine", "name"
"""Coordinates that every run has: the folder that it lies in, who made it, and the name of its scenario."""
FLOW_LABELS = ("group", "cc", "direction", "flow")
"""Coordinates of flows, in the order in which figures choose among them."""
LABELS: Mapping[str, tuple[str, ...]] = {
    "run": (),
    "flow": FLOW_LABELS,
    "group": FLOW_LABELS[:3],
    "stream": ("stream", "direction"),
    "port": ("port",),
}
"""What a value is of -> its coordinates beside those of the run."""
GOODPUT = "goodput"
"""The series that is not stored: the rate of `rx_bytes`."""
_SUMMED = ("goodput_mbit", "retransmits")
"""Columns of flows that are added up over a group; of the others it has the mean."""
_STREAMS = ("ping", "udp", "voip")
_WINDOWS = 60
"""Goodput over time is averaged over about a sixtieth of it."""


@dataclass(frozen=True)
class Source:
    """Runs that belong together, such as those of a folder, and what they are called in figures."""

    label: str
    runs: Sequence[Summarised]


@dataclass(frozen=True)
class Observation:
    """The values of a run, a flow, a group, a stream or a port."""

    run: int
    """Which run it is of, to tell repeats apart."""
    at: Mapping[str, Coordinate]
    values: Mapping[str, float] = field(default_factory=dict)
    """Column -> value; NaN where there is none."""
    series: metrics.Series | None = None
    """Times (s) and values, if it is of a series."""


def observations(sources: Sequence[Source], per: str) -> list[Observation]:
    """The rows of the tables of a kind: `run`, `flow`, `group` (the flows of an entry of the scenario together) or `stream`."""
    rows = {"run": _run, "flow": _flows, "group": _groups, "stream": _streams}[per]
    found = []
    for number, (where, run) in enumerate(_runs(sources)):
        found += [Observation(number, {**labels, **where}, values) for labels, values in rows(run)]
    return found


def varying(found: Sequence[Observation]) -> dict[str, list[Coordinate]]:
    """The coordinates with more than one value, but for the seed, with their values as they come."""
    keys = dict.fromkeys(key for each in found for key in each.at if key != SEED)
    values = {key: list(dict.fromkeys(each.at.get(key, "") for each in found)) for key in keys}
    return {key: listed for key, listed in values.items() if len(listed) > 1}


def _runs(sources: Sequence[Source]) -> Iterator[tuple[dict[str, Coordinate], Any]]:
    """Each run with its coordinates. Those of the sweep win over those that every run has."""
    for source in sources:
        for run in source.runs:
            yield {FOLDER: source.label, ENGINE: run.summary.engine, NAME: run.name, **run.cell}, run


def _run(run: Summarised) -> Iterator[tuple[dict[str, Coordinate], Mapping[str, float]]]:
    yield {}, run.summary.run


def _traits(run: Summarised, kind: str, name: str) -> Traits:
    return run.summary.traits.get(kind, {}).get(name, Traits("", "", ""))


def _flows(run: Summarised) -> Iterator[tuple[dict[str, Coordinate], Mapping[str, float]]]:
    for name, values in run.summary.flows.items():
        yield {**_traits(run, "flows", name)._asdict(), "flow": name}, values


def _groups(run: Summarised) -> Iterator[tuple[dict[str, Coordinate], Mapping[str, float]]]:
    members: dict[Traits, list[Mapping[str, float]]] = {}
    for name, values in run.summary.flows.items():
        members.setdefault(_traits(run, "flows", name), []).append(values)
    for traits, listed in members.items():
        together = {column: _together(column, [values[column] for values in listed]) for column in FLOW_METRICS}
        own = run.summary.groups.get(traits.group, {})
        yield dict(traits._asdict()), {**together, **own}
    for name, values in run.summary.groups.items():
        if not any(traits.group == name for traits in members):
            yield {**_traits(run, "groups", name)._asdict(), "group": name}, values


def _together(column: str, values: Sequence[float]) -> float:
    there = [value for value in values if not math.isnan(value)]
    if not there:
        return math.nan
    return math.fsum(there) / (1 if column in _SUMMED else len(there))


def _streams(run: Summarised) -> Iterator[tuple[dict[str, Coordinate], Mapping[str, float]]]:
    for name, values in run.summary.datagrams.items():
        yield {"stream": name, "direction": _traits(run, "datagrams", name).direction}, values


def series_names() -> dict[str, str]:
    """Series by name -> what they are of: `flow`, `stream` or `port`; of several the first."""
    found = {GOODPUT: "flow"}
    for kind, names in schema().series.items():
        per = "stream" if kind.partition("/")[0] in _STREAMS else kind
        if per in LABELS:
            for name in names:
                found.setdefault(name, per)
    return found


def series_kinds(name: str) -> list[str]:
    """What has a series: `flow`, `stream`, `port`."""
    kinds = {"stream" if kind in _STREAMS else kind: names for kind, names in schema().series.items() if name in names}
    return ["flow"] if name == GOODPUT else [kind for kind in LABELS if kind in kinds]


def sampled(
    sources: Sequence[Source], name: str, per: str, window_s: float | None = None, tick: Callable[[], None] = lambda: None
) -> tuple[list[Observation], float | None]:
    """A series of all runs, by flow, stream or port; `tick` is called after each run. A damaged run is left out, with a warning.

    Goodput is the rate over windows of `window_s`, which begin with the run, by default a sixtieth of the time of the first run, rounded to
    whole samples, and never less than one; the window is returned, too. Raises `BadInput` if no run has samples of the series.
    """
    found: list[Observation] = []
    for number, (where, run) in enumerate(_runs(sources)):
        try:
            for labels, series in _series(run, name, per):
                if name == GOODPUT:
                    window_s = _window(series) if window_s is None else max(window_s, _sample(series))
                    series = _rates(series, window_s)
                if len(series[0]):
                    found.append(Observation(number, {**labels, **where}, series=series))
        except DamagedRun as damage:
            leave_out(damage)
        tick()
    if not found:
        raise BadInput(f"--y {name}: no run has samples of it for a {per}; expected a series that was sampled (`series:` of the scenario)")
    return found, window_s


def _series(run: Run, name: str, per: str) -> Iterator[tuple[dict[str, Coordinate], metrics.Series]]:
    kinds = _STREAMS if per == "stream" else (per,)
    stored = "rx_bytes" if name == GOODPUT else name
    for (entity, series), values in run.all_series(stored).items():
        kind, _, own = entity.partition("/")
        if series != stored or kind not in kinds or len(values[0]) < 2:
            continue
        if per == "flow":
            yield {**_traits(run, "flows", own)._asdict(), "flow": own}, values
        elif per == "stream":
            yield {"stream": own, "direction": _traits(run, "datagrams", own).direction}, values
        else:
            yield {"port": own}, values


def _sample(series: metrics.Series) -> float:
    """The time between two samples."""
    return float(np.median(np.diff(series[0])))


def _window(received: metrics.Series) -> float:
    times, sample_s = received[0], _sample(received)
    return sample_s * max(1, round(float(times[-1]) / _WINDOWS / sample_s))


def _rates(received: metrics.Series, window_s: float) -> metrics.Series:
    """Goodput in the windows of a grid that begins with the run, at their ends."""
    times = received[0]
    first, last = math.ceil(float(times[0]) / window_s - 1e-9) + 1, math.floor(float(times[-1]) / window_s + 1e-9)
    if last < first:
        return np.empty(0), np.empty(0)
    ends = np.array([window_s * number for number in range(first, last + 1)])
    return ends, metrics.window_throughput_mbit(received, window_s, ends)
