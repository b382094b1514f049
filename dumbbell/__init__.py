"""A laboratory for TCP congestion control and queue management.

import dumbbell

results = dumbbell.run(dumbbell.Scenario.from_file("scenario.yaml"))
results.frame                       # polars: coordinates of the sweep, t_ns, entity, series, value
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell.api import run
    from dumbbell.results import Results, Run, Store, load
    from dumbbell.scenario import (
        Access,
        Bfifo,
        Bottleneck,
        Cake,
        Cc,
        Codel,
        Delay,
        DelayStage,
        Duration,
        Flow,
        Fq,
        FqCodel,
        FqPie,
        Host,
        Limit,
        Outage,
        Packets,
        Path,
        Pfifo,
        Pie,
        Qdisc,
        QueueStage,
        Rate,
        RateStep,
        Red,
        Sample,
        Scenario,
        ScenarioError,
        Sfq,
        Size,
        Stack,
        Start,
        Sweep,
        Tc,
        Udp,
    )

__version__ = "0.1.0"

__all__ = [
    "Access",
    "Bfifo",
    "Bottleneck",
    "Cake",
    "Cc",
    "Codel",
    "Delay",
    "DelayStage",
    "Duration",
    "Flow",
    "Fq",
    "FqCodel",
    "FqPie",
    "Host",
    "Limit",
    "Outage",
    "Packets",
    "Path",
    "Pfifo",
    "Pie",
    "Qdisc",
    "QueueStage",
    "Rate",
    "RateStep",
    "Red",
    "Results",
    "Run",
    "Sample",
    "Scenario",
    "ScenarioError",
    "Sfq",
    "Size",
    "Stack",
    "Start",
    "Store",
    "Sweep",
    "Tc",
    "Udp",
    "__version__",
    "load",
    "run",
]

_HOMES = {
    "Results": "dumbbell.results",
    "Run": "dumbbell.results",
    "Store": "dumbbell.results",
    "load": "dumbbell.results",
    "run": "dumbbell.api",
}
"""Where what is not part of a scenario lives."""


def __getattr__(name: str) -> Any:
    """Imports what is asked for when it is asked for: `import dumbbell` alone is quick."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_HOMES.get(name, "dumbbell.scenario")), name)
    return value


def __dir__() -> list[str]:
    return __all__
