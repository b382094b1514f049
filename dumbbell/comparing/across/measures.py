"""The few numbers of a run that people judge its traffic by: goodput each way, ping, MOS, the time of pages and transfers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dumbbell.results.summary import GOODPUT, Summary
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


_ONE_WAY = Measure(GOODPUT, "goodput", "Mbit/s", more_is_better=True)
_WAYS = {way: Measure(f"{way}.{GOODPUT}", f"{way} goodput", "Mbit/s", more_is_better=True) for way in ("forward", "reverse")}
_PING = Measure("ping_median_ms", "ping", "ms")
_MOS = Measure("mos", "MOS", "", more_is_better=True)
_SRTT = Measure("srtt_mean_ms", "smoothed RTT", "ms")


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
    for group, values in summary.groups.items():
        for column, noun in (("latency_median_ms", "latency"), ("completion_median_ms", "completion time")):
            if not math.isnan(values[column]):
                found[Measure(f"{group}.{column}", f"{noun} of {group}", "ms")] = values[column]
    for group, members in _by_group(summary).items():
        times = _there(values["completion_s"] for values in members)
        if times and len(times) == len(members):
            found[Measure(f"{group}.completion_s", f"completion time of {group}", "s")] = math.fsum(times) / len(times)
    if not pings and not math.isnan(summary.run["srtt_mean_ms"]):
        found[_SRTT] = summary.run["srtt_mean_ms"]
    return found


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
