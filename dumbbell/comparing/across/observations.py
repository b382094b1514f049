"""Values of many runs, each with its coordinates: those of the sweep, flow, group, engine ..."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dumbbell import metrics
from dumbbell.comparing.across.coordinates import LABELS, Coordinate, RunSet, everywhere
from dumbbell.errors import DamagedRun
from dumbbell.results import leave_out, schema
from dumbbell.results.columns import COLUMNS, SEED
from dumbbell.results.received import end_to_end, rates_mbit
from dumbbell.results.summary import FLOW_METRICS, GOODPUT, Summarised, Traits
from dumbbell.results.tables import DATAGRAM_KINDS
from dumbbell.scenario.units import ETHERNET_MTU

if TYPE_CHECKING:
    from dumbbell.results import Run

GROUP_COLUMNS = tuple(dict.fromkeys((GOODPUT, *COLUMNS["flow"], *COLUMNS["group"])))
"""A group also has the columns of its flows."""
RATE = "delivery_rate"
"""The rate that figures over time have by default: no loss holds it back, so that it never exceeds the capacity."""
_RATES = {RATE: "group", f"flow_{RATE}": "flow", "goodput": "group", "flow_goodput": "flow"}
"""Series that are not stored -> their entities: all flows of a group together, or each flow. Goodput is the rate of `rx_bytes`, which are
read in order, the delivery rate that of the segments that the sender knows to have arrived."""
_RECEIVED, _DELIVERED = "rx_bytes", "delivered"
_HEADERS_BYTES = 40
"""Headers of IPv4 and TCP without options."""
_SUMMED = "retransmits"
"""The column of flows that is added up over a group; of the others it has the mean."""
Progress: TypeAlias = Callable[[int, int], None]
"""Told how many of how many runs have been read."""
_WINDOWS = 60
"""Goodput over time is averaged over about a sixtieth of it."""


@dataclass(frozen=True)
class Observation:
    """The values of a run, a flow, a group, a stream or a port."""

    run: int
    """Number of its run, to tell runs of a cell apart."""
    at: Mapping[str, Coordinate]
    values: Mapping[str, float] = field(default_factory=dict)
    """Column -> value; NaN where there is none."""
    series: metrics.Series | None = None
    """Times (s) and values, if it is of a series."""


def observations(sources: Sequence[RunSet], per: str) -> list[Observation]:
    """The rows of the tables of a kind: `run`, `flow`, `group` (the flows of an entry of the scenario together) or `stream`."""
    rows = {"run": _run, "flow": _flows, "group": _groups, "stream": _streams}[per]
    found = []
    for number, (_, where, run) in enumerate(runs_of(sources)):
        found += [Observation(number, {**labels, **where}, values) for labels, values in rows(run)]
    return found


def varying(found: Sequence[Observation]) -> dict[str, list[Coordinate]]:
    """The coordinates with more than one value, but for the seed, with their values as they come."""
    keys = dict.fromkeys(key for each in found for key in each.at if key != SEED)
    values = {key: list(dict.fromkeys(each.at.get(key, "") for each in found)) for key in keys}
    return {key: listed for key, listed in values.items() if len(listed) > 1}


def runs_of(sources: Sequence[RunSet]) -> Iterator[tuple[RunSet, dict[str, Coordinate], Any]]:
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
        own = {column: value for column, value in run.summary.groups.get(traits.group, {}).items() if not math.isnan(value)}
        yield dict(traits._asdict()), {**dict.fromkeys(GROUP_COLUMNS, math.nan), **together, **own}
    for name, values in run.summary.groups.items():
        if not any(traits.group == name for traits in members):
            yield {**_traits(run, "groups", name)._asdict(), "group": name}, values


def _together(column: str, values: Sequence[float]) -> float:
    there = [value for value in values if not math.isnan(value)]
    if not there:
        return math.nan
    return math.fsum(there) / (1 if column == _SUMMED else len(there))


def _streams(run: Summarised) -> Iterator[tuple[dict[str, Coordinate], Mapping[str, float]]]:
    for name, values in run.summary.datagrams.items():
        yield {"stream": name, "direction": _traits(run, "datagrams", name).direction}, values


def is_rate(name: str) -> bool:
    """True if a series is averaged over windows."""
    return name in _RATES


def series_names() -> dict[str, str]:
    """Series by name -> their entities: `flow`, `group`, `stream` or `port`; the first of several."""
    found = dict(_RATES)
    for kind, names in schema().series.items():
        per = "stream" if kind.partition("/")[0] in DATAGRAM_KINDS else kind
        if per in LABELS:
            for name in names:
                found.setdefault(name, per)
    return found


def series_kinds(name: str) -> list[str]:
    """The kind of entity that has a series: `flow`, `group`, `stream`, `port`."""
    if is_rate(name):
        return [_RATES[name]]
    kinds = {"stream" if kind in DATAGRAM_KINDS else kind: names for kind, names in schema().series.items() if name in names}
    return [kind for kind in LABELS if kind in kinds]


def sampled(
    sources: Sequence[RunSet], wanted: Mapping[str, str], window_s: float | None = None, progress: Progress | None = None
) -> tuple[dict[str, list[Observation]], float | None]:
    """Return series of all runs, each for the entity in `wanted`: flow, stream or port. A damaged run is left out, with a warning.

    Goodput is the rate over windows of `window_s`, which begin with the run. By default a window is a sixtieth of the time of the first
    run, rounded to whole samples, and never less than one sample. The window is returned, too. `progress` gets the number of runs that are
    read, and how many there are.
    """
    found: dict[str, list[Observation]] = {name: [] for name in wanted}
    total = sum(len(source.runs) for source in sources)
    for number, (source, where, outline) in enumerate(runs_of(sources)):
        if progress is not None:
            progress(number, total)
        try:
            run = source.opened(outline)
            stored = run.all_series(*dict.fromkeys(each for name in wanted for each in _stored(name)))
        except DamagedRun as damage:
            leave_out(damage)
            continue
        received = next((values for (_, series), values in stored.items() if series == _RECEIVED and len(values[0]) > 1), None)
        if received is not None and any(map(is_rate, wanted)):
            window_s = _window(received) if window_s is None else max(window_s, _sample(received))
        for name, per in wanted.items():
            if not is_rate(name):
                of_name = _series(outline, stored, name, per)
            elif window_s is not None:
                of_name = ((labels, _rates(series, window_s)) for labels, series in _received(outline, run, _bytes(run, stored, name), per))
            else:
                continue
            found[name] += [Observation(number, {**labels, **where}, series=series) for labels, series in of_name if len(series[0])]
    if progress is not None:
        progress(total, total)
    return found, window_s


def _series(
    run: Summarised, stored: Mapping[tuple[str, str], metrics.Series], name: str, per: str, fewest: int = 2
) -> Iterator[tuple[dict[str, Coordinate], metrics.Series]]:
    kinds = DATAGRAM_KINDS if per == "stream" else (per,)
    for (entity, series), values in stored.items():
        kind, _, own = entity.partition("/")
        if series != name or kind not in kinds or len(values[0]) < fewest:
            continue
        if per == "flow":
            yield {**_traits(run, "flows", own)._asdict(), "flow": own}, values
        elif per == "stream":
            yield {"stream": own, "direction": _traits(run, "datagrams", own).direction}, values
        elif per == "group":
            yield {**_traits(run, "groups", own)._asdict(), "group": own}, values
        else:
            yield {"port": own}, values


def _stored(name: str) -> tuple[str, ...]:
    return (name,) if not is_rate(name) else (_RECEIVED, _DELIVERED) if name.endswith(RATE) else (_RECEIVED,)


def _bytes(run: Run, stored: Mapping[tuple[str, str], metrics.Series], name: str) -> Mapping[tuple[str, str], metrics.Series]:
    """The cumulative bytes of each entity that a rate is of, as `rx_bytes`."""
    if not name.endswith(RATE):
        return stored
    return {
        (entity, series): arrived(run, entity, stored) if series == _RECEIVED else values for (entity, series), values in stored.items()
    }


def arrived(run: Run, entity: str, stored: Mapping[tuple[str, str], metrics.Series]) -> metrics.Series:
    """The bytes of an entity that arrived, in whatever order; those that were read if its sender does not say."""
    received, delivered = stored[entity, _RECEIVED], stored.get((entity, _DELIVERED))
    if delivered is None or not len(delivered[0]):
        return received
    ports = (run.plan or {}).get("ports", ())
    most = max((port.get("mtu_bytes", ETHERNET_MTU) for port in ports), default=ETHERNET_MTU) - _HEADERS_BYTES
    return metrics.delivered_bytes(delivered, received, most)


def _received(
    outline: Summarised, run: Run, stored: Mapping[tuple[str, str], metrics.Series], per: str
) -> Iterator[tuple[dict[str, Coordinate], metrics.Series]]:
    """The bytes that each flow, or each group of flows, has received."""
    flows = {str(labels["flow"]): series for labels, series in _series(outline, stored, _RECEIVED, "flow", fewest=1)}
    known = outline.summary.traits.get("flows", {})
    if per == "flow":
        for name, series in flows.items():
            yield {**_traits(outline, "flows", name)._asdict(), "flow": name}, _whole(series, run.counters[f"flow/{name}"])
        return
    members: dict[Traits, list[metrics.Series]] = {_traits(outline, "flows", name): [] for name in flows}
    for name, traits in known.items():
        if traits in members:
            members[traits].append(_whole(flows.get(name), run.counters[f"flow/{name}"]))
    for traits, several in members.items():
        yield dict(traits._asdict()), _added_up(several, (run.plan or {}).get("duration_ns", 0) / metrics.NS_PER_S)
    groups = {traits.group for traits in members}
    yield from ((labels, series) for labels, series in _series(outline, stored, _RECEIVED, "group") if labels["group"] not in groups)


def _whole(received: metrics.Series | None, counters: Mapping[str, int]) -> metrics.Series:
    """The bytes that a flow received from its start to its end. A flow that lived between two samples is taken to receive evenly."""
    start_s = counters["start_ns"] / metrics.NS_PER_S
    end_s = start_s + counters["active_ns"] / metrics.NS_PER_S
    t_s, values = end_to_end(received or (np.array([start_s]), np.zeros(1)), start_s, end_s, counters.get("rx_bytes"))
    return t_s, np.maximum.accumulate(values)  # of a flow that is stopped, more may have arrived than was read


def _added_up(received: Sequence[metrics.Series], until_s: float) -> metrics.Series:
    """Return the sum of the bytes that flows have received: nothing before a flow's first sample, and until the run ends no more after its
    last."""
    times = np.unique(np.concatenate([t_s for t_s, _ in received]))
    times = np.append(times, until_s) if until_s > times[-1] else times
    total = np.zeros(len(times))
    for t_s, values in received:
        total += np.interp(times, t_s, values, left=0.0)
    return times, total


def _sample(series: metrics.Series) -> float:
    """The time between two samples."""
    return metrics.interval_s(series[0])


def _window(received: metrics.Series) -> float:
    times, sample_s = received[0], _sample(received)
    return sample_s * max(1, round(float(times[-1]) / _WINDOWS / sample_s))


def _rates(received: metrics.Series, window_s: float) -> metrics.Series:
    """Return goodput in the windows of a grid that begins with the run, at their ends. For a flow that begins within a window it is the
    bytes received there, over the whole window."""
    times = received[0]
    edges_s = window_s * np.arange(math.floor(float(times[-1]) / window_s + 1e-9) + 1, dtype=np.float64)
    rates = rates_mbit(received, float(times[0]), float(times[-1]), edges_s)
    there = np.isfinite(rates)
    return edges_s[1:][there], rates[there]
