"""The arguments that `run`, `plan` and `check` share (a scenario file and a results folder), and reading them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.errors import BadInput
from dumbbell.files import creatable

if TYPE_CHECKING:
    from dumbbell.engines.prepared import Prepared
    from dumbbell.engines.sweep import PreparedSweep
    from dumbbell.results import Store
    from dumbbell.scenario import Scenario

FileArgument = Annotated[Path, typer.Argument(help="Scenario file (YAML).")]
OutOption = Annotated[Path | None, typer.Option("--out", callback=creatable, help="Results folder; results/NAME by default.")]
MostCellsOption = Annotated[
    int | None, typer.Option("--most-cells", min=1, help="Allow this many runs (cells times repeats); 100,000 by default.")
]
SAMPLE = 300
"""Runs of a larger sweep that `plan` prepares."""


@dataclass(frozen=True)
class ScenarioSample:
    """The runs of a scenario file, or a sample of them."""

    name: str
    total: int
    """The number of runs that the scenario has."""
    runs: list[Prepared]
    missing: list[Prepared]
    """Those of `runs` that are not in the store."""
    store: Store

    @property
    def each(self) -> float:
        """The number of runs that each of `runs` stands for; 1 if they are all."""
        return self.total / len(self.runs)


def read_sample(file: Path, out: Path | None, most_runs: int | None) -> ScenarioSample:
    """Reads a scenario file, prepares its runs and finds those that are not in the store.

    With more than `SAMPLE` runs, only the first run of each of `SAMPLE` evenly spaced cells is prepared.
    Raises `BadInput` if one of the prepared runs cannot be run, or if there are more than `most_runs`.
    """
    from dumbbell.engines.prepared import prepare

    scenario, store = _read(file, out, most_runs)
    total = scenario.run_count
    runs = prepare(scenario.runs(most_runs) if total <= SAMPLE else scenario.sample_runs(most_runs, SAMPLE))
    lacking = set(store.missing([run.key for run in runs]))
    return ScenarioSample(scenario.name, total, runs, [run for run in runs if run.key in lacking], store)


def read_sweep(file: Path, out: Path | None, most_runs: int | None) -> tuple[str, PreparedSweep, Store]:
    """Reads a scenario file, and checks all its runs: name of the scenario, runs, and the store for them.

    Raises `BadInput` if one of them cannot be run, or if there are more than `most_runs`.
    """
    from dumbbell.engines.sweep import PreparedSweep

    scenario, store = _read(file, out, most_runs)
    return scenario.name, PreparedSweep(scenario, most_runs), store


def _read(file: Path, out: Path | None, most_runs: int | None) -> tuple[Scenario, Store]:
    from dumbbell.results import Store
    from dumbbell.scenario import Scenario
    from dumbbell.studies import study_names

    if not file.exists() and file.as_posix().split("/", 1)[0] in study_names():
        raise BadInput(f"{file}: no such file; expected a scenario file, or `dumbbell reproduce {file.as_posix()}` for the study")
    scenario = Scenario.from_file(file, most_runs)
    return scenario, Store(out if out is not None else Path("results") / scenario.name)
