"""Scenarios as a user writes them, their units, sweeps and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell.lazy import lazily

if TYPE_CHECKING:
    from dumbbell.documents.problems import Problem, ScenarioError
    from dumbbell.scenario.check import applications, bottlenecks, flow_bases, flow_names, groups_coming, over_tcp
    from dumbbell.scenario.faults import BitErrors, Faults, Gilbert, Jitter, Random, Regular, Reorder
    from dumbbell.scenario.model import (
        Access,
        Bottleneck,
        Delay,
        DelayStage,
        Drop,
        Flow,
        Hold,
        HostQueue,
        Impairment,
        NamedPath,
        Outage,
        Path,
        QueueStage,
        RateStep,
        Settings,
        Stage,
    )
    from dumbbell.scenario.qdiscs import *  # noqa: F403
    from dumbbell.scenario.sample import Range, Sample
    from dumbbell.scenario.scenario import ResolvedScenario, Scenario
    from dumbbell.scenario.series import Choice, Series
    from dumbbell.scenario.sweep import Sweep
    from dumbbell.scenario.tcp import Cc, Connections, Host, Stack, Start
    from dumbbell.scenario.traffic import *  # noqa: F403
    from dumbbell.scenario.units import Duration, Limit, Packets, Rate, Share, Size
    from dumbbell.scenario.until import Until

__all__ = [
    "Access",
    "BitErrors",
    "Bottleneck",
    "Cc",
    "Choice",
    "Connections",
    "Delay",
    "DelayStage",
    "Drop",
    "Duration",
    "Faults",
    "Flow",
    "Gilbert",
    "Hold",
    "Host",
    "HostQueue",
    "Impairment",
    "Jitter",
    "Limit",
    "NamedPath",
    "Outage",
    "Packets",
    "Path",
    "Problem",
    "QueueStage",
    "Random",
    "Range",
    "Rate",
    "RateStep",
    "Regular",
    "Reorder",
    "ResolvedScenario",
    "Sample",
    "Scenario",
    "ScenarioError",
    "Series",
    "Settings",
    "Share",
    "Size",
    "Stack",
    "Stage",
    "Start",
    "Sweep",
    "Until",
    "applications",
    "bottlenecks",
    "flow_bases",
    "flow_names",
    "groups_coming",
    "over_tcp",
]

_HOMES = {
    "documents.problems": "Problem ScenarioError",
    "scenario.check": "applications bottlenecks flow_bases flow_names groups_coming over_tcp",
    "scenario.faults": "BitErrors Faults Gilbert Jitter Random Regular Reorder",
    "scenario.model": (
        "Access Bottleneck Delay DelayStage Drop Flow Hold HostQueue Impairment NamedPath Outage Path QueueStage RateStep Settings Stage"
    ),
    "scenario.sample": "Range Sample",
    "scenario.scenario": "ResolvedScenario Scenario",
    "scenario.series": "Choice Series",
    "scenario.sweep": "Sweep",
    "scenario.tcp": "Cc Connections Host Stack Start",
    "scenario.units": "Duration Limit Packets Rate Share Size",
    "scenario.until": "Until",
}
"""Modules of the names."""
_OTHERS = ("scenario.qdiscs", "scenario.traffic")
"""Modules whose public names are names of this package, too: each has a list of them, made from the catalogue."""

if not TYPE_CHECKING:
    __getattr__ = lazily(globals(), _HOMES, _OTHERS)
