"""Scenarios as a user writes them, their units, sweeps and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell.lazy import lazily

if TYPE_CHECKING:
    from dumbbell.documents.problems import Problem, ScenarioError
    from dumbbell.scenario.check import applications, bottlenecks, flow_bases, flow_names, groups_coming, over_tcp
    from dumbbell.scenario.connections import Connections
    from dumbbell.scenario.faults import BitErrors, Faults, Gilbert, Jitter, Random, Regular, Reorder
    from dumbbell.scenario.generated.impairments import Drop, Hold, Outage, RateStep
    from dumbbell.scenario.generated.kinds import *  # noqa: F403
    from dumbbell.scenario.generated.networks import HostQueue
    from dumbbell.scenario.generated.paths import Access, Delay, DelayStage
    from dumbbell.scenario.model import Flow, NamedPath, Path, Settings
    from dumbbell.scenario.qdiscs import *  # noqa: F403
    from dumbbell.scenario.sample import Range, Sample
    from dumbbell.scenario.scenario import ResolvedScenario, Scenario
    from dumbbell.scenario.series import Choice, Series
    from dumbbell.scenario.stages import Bottleneck, Impairment, QueueStage, Stage
    from dumbbell.scenario.sweep import Sweep, Until
    from dumbbell.scenario.tcp import Cc, Host, Stack, Start
    from dumbbell.scenario.units import Duration, Limit, Packets, Rate, Share, Size

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
    "scenario.connections": "Connections",
    "scenario.faults": "BitErrors Faults Gilbert Jitter Random Regular Reorder",
    "scenario.generated.impairments": "Drop Hold Outage RateStep",
    "scenario.generated.networks": "HostQueue",
    "scenario.generated.paths": "Access Delay DelayStage",
    "scenario.model": "Flow NamedPath Path Settings",
    "scenario.sample": "Range Sample",
    "scenario.scenario": "ResolvedScenario Scenario",
    "scenario.series": "Choice Series",
    "scenario.sweep": "Sweep Until",
    "scenario.stages": "Bottleneck Impairment QueueStage Stage",
    "scenario.tcp": "Cc Host Stack Start",
    "scenario.units": "Duration Limit Packets Rate Share Size",
}
"""Modules of the names."""
_OTHERS = ("scenario.qdiscs", "scenario.generated.kinds")
"""Modules whose public names are names of this package, too: each has a list of them, made from the catalogue."""

if not TYPE_CHECKING:
    __getattr__ = lazily(globals(), _HOMES, _OTHERS)
