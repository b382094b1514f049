"""A laboratory for TCP congestion control and queue management.

import dumbbell

results = dumbbell.run(dumbbell.Scenario.from_file("scenario.yaml"))
results.frame                       # polars: coordinates of the sweep, t_ns, entity, series, value
dumbbell.plot(results, x="path.rtt", y="goodput", by="group")       # a matplotlib figure
dumbbell.table(results)                                             # means over seeds with their intervals
dumbbell.compare(before, results).sentence                          # cell by cell, with a test
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell.api import compare, plot, run, table
    from dumbbell.notebooks import Explorer, view
    from dumbbell.results import Results, Run, Store, load
    from dumbbell.scenario import (
        Access,
        Bottleneck,
        Cc,
        Delay,
        DelayStage,
        Drop,
        Duration,
        Flow,
        Hold,
        Host,
        Limit,
        Outage,
        Packets,
        Path,
        QueueStage,
        Range,
        Rate,
        RateStep,
        Sample,
        Scenario,
        ScenarioError,
        Size,
        Stack,
        Start,
        Sweep,
        Until,
    )
    from dumbbell.scenario.function import Function, Round, control
    from dumbbell.scenario.generated.kinds import *  # noqa: F403
    from dumbbell.scenario.qdiscs import *  # noqa: F403

__version__ = "1.0.0"

__all__ = [
    "Access",
    "Bottleneck",
    "Cc",
    "Delay",
    "DelayStage",
    "Drop",
    "Duration",
    "Explorer",
    "Flow",
    "Function",
    "Hold",
    "Host",
    "Limit",
    "Outage",
    "Packets",
    "Path",
    "QueueStage",
    "Range",
    "Rate",
    "RateStep",
    "Results",
    "Round",
    "Run",
    "Sample",
    "Scenario",
    "ScenarioError",
    "Size",
    "Stack",
    "Start",
    "Store",
    "Sweep",
    "Until",
    "__version__",
    "compare",
    "control",
    "load",
    "plot",
    "run",
    "table",
    "view",
]

_HOMES = {
    "Explorer": "dumbbell.notebooks",
    "Function": "dumbbell.scenario.function",
    "Results": "dumbbell.results",
    "Round": "dumbbell.scenario.function",
    "Run": "dumbbell.results",
    "Store": "dumbbell.results",
    "compare": "dumbbell.api",
    "control": "dumbbell.scenario.function",
    "load": "dumbbell.results",
    "plot": "dumbbell.api",
    "run": "dumbbell.api",
    "table": "dumbbell.api",
    "view": "dumbbell.notebooks",
}
"""Modules of the names that are not part of a scenario."""


def __getattr__(name: str) -> Any:
    """Import a name when it is asked for, so that `import dumbbell` alone is quick."""
    from importlib import import_module

    if name not in __all__ and name not in _kinds(name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES.get(name, "dumbbell.scenario")
    value = globals()[name] = getattr(import_module(home), name)
    if hasattr(value, "model_fields"):
        import_module("dumbbell.scenario.help").describe(value)
    if home in ("dumbbell.api", "dumbbell.results"):
        from dumbbell.results import notebook

        notebook.SHOWN[0] = _results_html
    return value


def _results_html(results: Results) -> str:
    """The page of results that a notebook shows."""
    from dumbbell.notebooks import results_html

    return results_html(results)


def _kinds(name: str = "") -> list[str]:
    """Return the classes of queue disciplines and of background traffic, unless the name cannot be that of a class.

    A module is asked for many names that it does not have, and these imports take time.
    """
    if name[:1].islower() or name.startswith("_"):
        return []
    from dumbbell.scenario import qdiscs
    from dumbbell.scenario.generated import kinds

    return [*qdiscs.__all__, *kinds.__all__]


def __dir__() -> list[str]:
    return [*__all__, *_kinds()]
