"""Values of many runs, each with what it is of: coordinates of the sweep, flow, group, engine ..."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dumbbell import metrics
from dumbbell.comparing.across.coordinates import LABELS, Coordinate, Source, everywhere
from dumbbell.errors import DamagedRun
from dumbbell.results import leave_out, schema
from dumbbell.results.columns import SEED
from dumbbell.results.summary import FLOW_METRICS, Summarised, Traits

if TYPE_CHECKING:
    from dumbbell.results import Run

GOODPUT = "goodput"
"""The series that is not stored: the rate of `rx_bytes`."""
_SUMMED = ("goodput_mbit", "retransmits")
"""Columns of flows that are added up over a group; of the others it has the mean."""
_STORED = {GOODPUT: "rx_bytes"}
"""Series that are made of another."""
_STREAMS = ("ping", "udp", "voip")
Progress: TypeAlias = Callable[[int, int], None]
"""Told how many of how many runs have been read."""
_WINDOWS = 60
"""Goodput over time is averaged over about a sixtieth of it."""


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
    for number, (_, where, run) in enumerate(_runs(sources)):
        found += [Observation(number, {**labels, **where}, values) for labels, values in rows(run)]
    return found


def varying(found: Sequence[Observation]) -> dict[str, list[Coordinate]]:
    """The coordinates with more than one value, but for the seed, with their values as they come."""
    keys = dict.fromkeys(key for each in found for key in each.at if key != SEED)
    values = {key: list(dict.fromkeys(each.at.get(key, "") for each in found)) for key in keys}
    return {key: listed for key, listed in values.items() if len(listed) > 1}


def _runs(sources: Sequence[Source]) -> Iterator[tuple[Source, dict[str, Coordinate], Any]]:
    """Each run with its coordinates."""
    for source in sources:
        for cell, run in source.placed():
            yield source, everywhere(source, cell, run), run


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
    sources: Sequence[Source], wanted: Mapping[str, str], window_s: float | None = None, progress: Progress | None = None
) -> tuple[dict[str, list[Observation]], float | None]:
    """Series of all runs, each of what `wanted` says: flow, stream or port. A damaged run is left out, with a warning.

    Goodput is the rate over windows of `window_s`, which begin with the run, by default a sixtieth of the time of the first run, rounded to
    whole samples, and never less than one; the window is returned, too. `progress` is told the runs that are read, and how many there are.
    """
    found: dict[str, list[Observation]] = {name: [] for name in wanted}
    total = sum(len(source.runs) for source in sources)
    for number, (source, where, outline) in enumerate(_runs(sources)):
        if progress is not None:
            progress(number, total)
        try:
            run = source.opened(outline)
            stored = run.all_series(*(_STORED.get(name, name) for name in wanted))
        except DamagedRun as damage:
            leave_out(damage)
            continue
        for name, per in wanted.items():
            for labels, series in _series(outline, stored, name, per):
                if name == GOODPUT:
                    window_s = _window(series) if window_s is None else max(window_s, _sample(series))
                    series = _rates(_from_the_start(series, run, labels), window_s)
                if len(series[0]):
                    found[name].append(Observation(number, {**labels, **where}, series=series))
    if progress is not None:
        progress(total, total)
    return found, window_s


def _series(
    run: Summarised, stored: Mapping[tuple[str, str], metrics.Series], name: str, per: str
) -> Iterator[tuple[dict[str, Coordinate], metrics.Series]]:
    kinds = _STREAMS if per == "stream" else (per,)
    for (entity, series), values in stored.items():
        kind, _, own = entity.partition("/")
        if series != _STORED.get(name, name) or kind not in kinds or len(values[0]) < 2:
            continue
        if per == "flow":
            yield {**_traits(run, "flows", own)._asdict(), "flow": own}, values
        elif per == "stream":
            yield {"stream": own, "direction": _traits(run, "datagrams", own).direction}, values
        else:
            yield {"port": own}, values


def _sample(series: metrics.Series) -> float:
    """The time between two samples."""
    return metrics.interval_s(series[0])


def _window(received: metrics.Series) -> float:
    times, sample_s = received[0], _sample(received)
    return sample_s * max(1, round(float(times[-1]) / _WINDOWS / sample_s))


def _from_the_start(received: metrics.Series, run: Run, labels: Mapping[str, Coordinate]) -> metrics.Series:
    """With a sample before the first, which nobody took: when the flow began, or at the latest tick without it, nothing was received."""
    times, values = received
    if values[0] == 0:
        return received
    tick_s = float(times[0]) - _sample(received)
    began_ns = run.counters.get(f"flow/{labels.get('flow', '')}", {}).get("start_ns")
    begin_s = max(0.0, tick_s if began_ns is None else min(tick_s, began_ns / metrics.NS_PER_S))
    if begin_s > times[0] - 1e-9:
        return received
    return np.insert(times, 0, begin_s), np.insert(values, 0, 0.0)


def _rates(received: metrics.Series, window_s: float) -> metrics.Series:
    """Goodput in the windows of a grid that begins with the run, at their ends. A flow that begins within a window has all of that window:
    what it received there, over the whole window."""
    times, values = received
    first, last = math.floor(float(times[0]) / window_s + 1e-9), math.floor(float(times[-1]) / window_s + 1e-9)
    if last <= first:
        return np.empty(0), np.empty(0)
    if values[0] == 0 and times[0] > first * window_s + 1e-9:
        times, values = np.insert(times, 0, first * window_s), np.insert(values, 0, 0.0)
    elif times[0] > first * window_s + 1e-9:
        first += 1
    ends = np.array([window_s * number for number in range(first + 1, last + 1)])
    return ends, metrics.window_throughput_mbit((times, values), window_s, ends)
