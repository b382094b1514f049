"""The few numbers of a run that people judge its traffic by: goodput each way, ping, MOS, the time of pages and transfers."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from dumbbell.results.responsiveness import FOREIGN
from dumbbell.results.summary import GOODPUT, Summary, Traits
from dumbbell.results.words import column_words


@dataclass(frozen=True)
class Measure:
    """Name of one such number."""

    column: str
    """Name in tables."""
    noun: str
    """Name in a sentence: `ping`."""
    unit: str
    more_is_better: bool = False

    @property
    def title(self) -> str:
        """Name with its unit, as columns of tables and axes have it."""
        return f"{self.noun} ({self.unit})" if self.unit else self.noun


RPM = Measure("responsiveness_rpm", "responsiveness", "RPM", more_is_better=True)
"""Round trips per minute."""
_ONE_WAY = Measure(GOODPUT, "goodput", "Mbit/s", more_is_better=True)
_WAYS = {way: Measure(f"{way}.{GOODPUT}", f"{way} goodput", "Mbit/s", more_is_better=True) for way in ("forward", "reverse")}
_PING = Measure("ping_median_ms", "ping", "ms")
_MOS = Measure("mos", "MOS", "", more_is_better=True)
_SRTT = Measure("srtt_mean_ms", "smoothed RTT", "ms")
_PING_P95, _SRTT_P95 = Measure("ping_p95_ms", "ping p95", "ms"), Measure("srtt_p95_ms", "smoothed RTT p95", "ms")
_LOST = Measure("lost_percent", "datagrams lost", "%")
JAIN = Measure("jain_index", "Jain index", "", more_is_better=True)
"""How evenly the bulk flows of a run share."""
_MOST_GROUPS = 6
"""Groups of bulk flows in one direction whose goodputs are distinguished."""
_LOADED = 0.2
"""Utilisation below which a queue is left out: ACKs of a link with a fifth of the rate in their direction load it by less."""


def measured(summary: Summary) -> dict[Measure, float]:
    """The numbers that the traffic of a run has. If nothing in it measures delay, the smoothed RTT of its flows is one of them.

    The ping is the mean over the streams of their medians, the MOS that of the worst call.
    """
    found = dict(_goodputs(summary))
    streams = summary.datagrams.values()
    pings = _there(each["rtt_median_ms"] for each in streams)
    calls = _there(each["mos"] for each in streams)
    if pings:
        found[_PING] = math.fsum(pings) / len(pings)
    if calls:
        found[_MOS] = min(calls)
    if not math.isnan(summary.run[RPM.column]):
        found[RPM] = summary.run[RPM.column]
    for group, values in summary.groups.items():
        if RPM in found and group == FOREIGN:
            continue  # these are the probes of the responsiveness
        for column, noun in (("latency_median_ms", "latency"), ("completion_median_ms", "completion time")):
            if not math.isnan(values[column]):
                found[Measure(f"{group}.{column}", f"{noun} of {group}", "ms")] = values[column]
    for group, members in _by_group(summary).items():
        times = _there(values["completion_s"] for values in members)
        if times and len(times) == len(members):
            found[Measure(f"{group}.completion_s", f"completion time of {group}", "s")] = math.fsum(times) / len(times)
    if not pings and RPM not in found and not math.isnan(summary.run["srtt_mean_ms"]):
        found[_SRTT] = summary.run["srtt_mean_ms"]
    return found


def ways_of(summary: Summary) -> dict[str, set[str]]:
    """Return the directions of bulk flows, each with the names of the groups of bulk flows there."""
    found: dict[str, set[str]] = {}
    for each in summary.traits.get("flows", {}).values():
        if each.group not in summary.traits.get("groups", {}):
            found.setdefault(each.direction, set()).add(each.group)
    return found


def called(measure: Measure, ways: Mapping[str, Collection[str]]) -> Measure:
    """Return a measure with its direction called by the only group of flows there, if both directions have one and their names differ:
    `download goodput`, not `forward goodput`."""
    names = {way: next(iter(groups)) for way, groups in ways.items() if way in _WAYS and len(groups) == 1}
    way, _, rest = measure.noun.partition(" ")
    return replace(measure, noun=f"{names[way]} {rest}") if len(set(names.values())) == len(_WAYS) and way in names else measure


def answered(summary: Summary) -> dict[Measure, float]:
    """The numbers that the summary of `dumbbell run` shows, as far as the traffic has them: those of `measured`, each with its 95th
    percentile, one-way delays, stalls, and for each queue its utilisation and delay. A queue that nothing but ACKs loads is left out."""
    found: dict[Measure, float] = {}
    streams = summary.datagrams
    for measure, value in measured(summary).items():
        found[measure] = value
        group, _, column = measure.column.rpartition(".")
        if measure == _PING:
            found |= _there_alone(_PING_P95, [each["rtt_p95_ms"] for each in streams.values()])
            found |= _one_way(summary)
        elif measure == _SRTT:
            found |= _there_alone(_SRTT_P95, [summary.run["srtt_p95_ms"]])
        elif column.endswith("_median_ms"):
            tail = column.replace("median", "p95")
            found |= _there_alone(Measure(f"{group}.{tail}", f"{measure.noun} p95", "ms"), [summary.groups[group][tail]])
    if _PING not in found:
        found |= _one_way(summary)
    lost = _there(each["lost_share"] for each in streams.values())
    if lost:
        found[_LOST] = 100 * max(lost)
    for group, values in summary.groups.items():
        for column, noun, unit in (("stalls", "stalls", ""), ("stalled_ms", "stalled time", "ms"), ("startup_mean_ms", "start-up", "ms")):
            found |= _there_alone(Measure(f"{group}.{column}", f"{noun} of {group}", unit), [values[column]])
    found |= _between_groups(summary)
    return found | _queues(summary)


def _one_way(summary: Summary) -> dict[Measure, float]:
    """One-way delays of the streams in each direction, but for pings: the median and 95th percentile of the stream with the largest."""
    found: dict[Measure, float] = {}
    traits = summary.traits.get("datagrams", {})
    for way in _WAYS:
        alone = [each for name, each in summary.datagrams.items() if math.isnan(each["rtt_median_ms"]) and _way(traits, name) == way]
        for column, noun in (("owd_median_ms", f"{way} one-way delay"), ("owd_p95_ms", f"{way} one-way p95")):
            values = _there(each[column] for each in alone)
            if values:
                found[Measure(f"{way}.{column}", noun, "ms")] = max(values)
    return found


def _way(traits: Mapping[str, Traits], name: str) -> str:
    return traits[name].direction if name in traits else ""


def _between_groups(summary: Summary) -> dict[Measure, float]:
    """The goodput of each group of bulk flows where several share a direction, and how evenly flows share where all have one direction."""
    members = {group: flows for group, flows in _by_group(summary).items() if group in summary.groups}
    ways: dict[str, list[str]] = {}
    for each in summary.traits.get("flows", {}).values():
        if each.group in members and each.group not in ways.setdefault(each.direction, []):
            ways[each.direction].append(each.group)
    found = {
        Measure(f"{group}.{GOODPUT}", f"goodput of {group}", "Mbit/s", more_is_better=True): summary.groups[group][GOODPUT]
        for groups in ways.values()
        for group in groups
        if 1 < len(groups) <= _MOST_GROUPS and not math.isnan(summary.groups[group][GOODPUT])
    }
    alone = len(ways) == 1 and math.isnan(summary.run[RPM.column])  # flows of that load begin one after the other
    if alone and sum(map(len, members.values())) > 1 and not math.isnan(summary.run["jain_index"]):
        found[JAIN] = summary.run["jain_index"]
    return found


def loaded(summary: Summary) -> list[str]:
    """Return the queues that traffic loads, or whose load is not known."""
    return [port for port, values in summary.ports.items() if not values["utilisation"] < _LOADED]


def _queues(summary: Summary) -> dict[Measure, float]:
    """Utilisation in percent and delay of each queue, named by its direction if it is the only one there."""
    traits = summary.traits.get("ports", {})
    ports = {port: summary.ports[port] for port in loaded(summary)}
    ways = [_way(traits, port) for port in ports]
    found: dict[Measure, float] = {}
    for port, way in zip(ports, ways, strict=True):
        name = "" if len(ports) == 1 else f"{way} " if ways.count(way) == 1 and way in _WAYS else f"{port} "
        values, own = ports[port], f"{port}." if len(ports) > 1 else ""
        found |= _there_alone(Measure(f"{own}utilisation", f"{name}utilisation", "%", more_is_better=True), [100 * values["utilisation"]])
        for column, noun in (("queue_delay_mean_ms", "queue delay"), ("queue_delay_p95_ms", "queue delay p95")):
            found |= _there_alone(Measure(f"{own}{column}", f"{name}{noun}", "ms"), [values[column]])
    return found


def _there_alone(measure: Measure, values: Iterable[float]) -> dict[Measure, float]:
    """The measure with the mean of the values that exist, if there are any."""
    there = _there(values)
    return {measure: math.fsum(there) / len(there)} if there else {}


def others(summary: Summary) -> dict[str, tuple[str, float]]:
    """Every other number of the groups and streams of a run: column -> its title and value."""
    of = [*summary.groups.items(), *summary.datagrams.items()]
    return {
        f"{name}.{column}": (f"{name}: {column_words(column)}", value)
        for name, values in of
        for column, value in values.items()
        if not math.isnan(value)
    }


def _goodputs(summary: Summary) -> Iterable[tuple[Measure, float]]:
    """The goodput of bulk flows by their direction. Flows in one direction and nothing else over TCP have the goodput of the run."""
    ways: dict[str, list[float]] = {}
    for group, values in summary.groups.items():
        way = next((each.direction for each in summary.traits.get("flows", {}).values() if each.group == group), "")
        if group not in summary.traits.get("groups", {}) and not math.isnan(values[GOODPUT]):
            ways.setdefault(way, []).append(values[GOODPUT])
    if len(ways) > 1 and set(ways) <= set(_WAYS):
        yield from ((_WAYS[way], math.fsum(ways[way])) for way in _WAYS)
    elif ways and not math.isnan(summary.run[GOODPUT]):
        yield _ONE_WAY, summary.run[GOODPUT]


def _by_group(summary: Summary) -> dict[str, list[Mapping[str, float]]]:
    found: dict[str, list[Mapping[str, float]]] = {}
    for flow, traits in summary.traits.get("flows", {}).items():
        if traits.group not in summary.traits.get("groups", {}) and flow in summary.flows:
            found.setdefault(traits.group, []).append(summary.flows[flow])
    return found


def _there(values: Iterable[float]) -> list[float]:
    return [value for value in values if not math.isnan(value)]
