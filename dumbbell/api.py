"""Running a scenario from Python."""

from __future__ import annotations

from pathlib import Path

from dumbbell.engines.execute import Progress, execute
from dumbbell.results import Results, Store
from dumbbell.scenario import Scenario


def run(scenario: Scenario, out: str | Path | None = None, workers: int | None = None, progress: Progress | None = None) -> Results:
    """Runs all cells of a scenario, on all processors unless `workers` says otherwise.

    With `out` the runs are kept in that results folder and those already there are not run again; without, all stays in memory.
    Raises `ScenarioError` (a `BadInput`) if the scenario cannot be run.
    """
    store = None if out is None else Store(out)
    return Results(tuple(execute(scenario.expand(), store, workers, progress)))
