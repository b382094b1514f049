"""Scenarios as a user writes them, their units, sweeps and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell.documents.problems import Problem, ScenarioError
    from dumbbell.scenario.check import bottlenecks, flow_bases, flow_names, groups_coming, over_tcp
    from dumbbell.scenario.faults import BitErrors, Faults, Gilbert, Jitter, Random, Reorder
    from dumbbell.scenario.model import (
        Access,
        Bottleneck,
        Delay,
        DelayStage,
        Flow,
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
    "Duration",
    "Faults",
    "Flow",
    "Gilbert",
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
    "bottlenecks",
    "flow_bases",
    "flow_names",
    "groups_coming",
    "over_tcp",
]

_HOMES = {
    "documents.problems": (
        "Problem",
        "ScenarioError",
    ),
    "scenario.check": (
        "bottlenecks",
        "flow_bases",
        "flow_names",
        "groups_coming",
        "over_tcp",
    ),
    "scenario.faults": (
        "BitErrors",
        "Faults",
        "Gilbert",
        "Jitter",
        "Random",
        "Reorder",
    ),
    "scenario.model": (
        "Access",
        "Bottleneck",
        "Delay",
        "DelayStage",
        "Flow",
        "HostQueue",
        "Impairment",
        "NamedPath",
        "Outage",
        "Path",
        "QueueStage",
        "RateStep",
        "Settings",
        "Stage",
    ),
    "scenario.sample": (
        "Range",
        "Sample",
    ),
    "scenario.scenario": (
        "ResolvedScenario",
        "Scenario",
    ),
    "scenario.series": (
        "Choice",
        "Series",
    ),
    "scenario.sweep": ("Sweep",),
    "scenario.tcp": (
        "Cc",
        "Connections",
        "Host",
        "Stack",
        "Start",
    ),
    "scenario.units": (
        "Duration",
        "Limit",
        "Packets",
        "Rate",
        "Share",
        "Size",
    ),
    "scenario.until": ("Until",),
}
"""Modules of the names."""
_OTHERS = ("scenario.qdiscs", "scenario.traffic")
"""Modules whose public names are names of this package, too: each has a list of them, made from the catalogue."""


def _imported(name: str) -> Any:
    """Import a name when it is asked for: the models take half a second, and tables and figures need units at most."""
    from importlib import import_module

    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((home for home, names in _HOMES.items() if name in names), None)
    others = () if home is not None or not name[0].isupper() else _OTHERS
    home = home or next((each for each in others if name in import_module(f"dumbbell.{each}").__all__), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"dumbbell.{home}"), name)
    return value


if not TYPE_CHECKING:
    __getattr__ = _imported
