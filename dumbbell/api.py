"""Running a scenario from Python."""

from __future__ import annotations

from pathlib import Path

from dumbbell.engines.execute import Progress, execute
from dumbbell.engines.prepared import prepare
from dumbbell.executor import Executor, Threads
from dumbbell.results import Results, Store
from dumbbell.scenario import Scenario


def run(
    scenario: Scenario,
    out: str | Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
    allow_library: bool = False,
) -> Results:
    """Runs all cells of a scenario.

    Args:
        scenario: What to run.
        out: A results folder: the runs are kept there, and those already there are not run again. None: all stays in memory.
        workers: Threads that compute; None: one a processor.
        progress: Is told how far it is.
        executor: Where to compute, in place of threads: `dumbbell.executor` has others.
        allow_library: Load and run the libraries that the scenario names as congestion controls (`cc: {library: ./mine.so}`).

    A stored run that is damaged is left out with a warning, see `Results.damaged`.
    Raises `ScenarioError` (a `BadInput`) if the scenario cannot be run, `BadInput` for a number of workers that is none, or for a library
    without `allow_library`.
    """
    store = None if out is None else Store(out)
    return execute(prepare(scenario.runs()), store, executor or Threads(workers), progress, allow_library=allow_library)
