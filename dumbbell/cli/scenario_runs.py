"""The arguments that `run` and `plan` share (a scenario file and a results folder), and reading them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.errors import BadInput

if TYPE_CHECKING:
    from dumbbell.engines.prepared import Prepared
    from dumbbell.results import Store

FileArgument = Annotated[Path, typer.Argument(help="Scenario file (YAML).")]
OutOption = Annotated[Path | None, typer.Option("--out", help="Results folder; results/NAME by default.")]


@dataclass(frozen=True)
class ScenarioRuns:
    """The prepared runs of a scenario file."""

    name: str
    runs: list[Prepared]
    missing: list[Prepared]
    """The runs that are not in the store."""
    store: Store


def read_scenario(file: Path, out: Path | None) -> ScenarioRuns:
    """Reads a scenario file, prepares its runs and finds those that are not in the store. Raises `BadInput` if it cannot be run."""
    from dumbbell.engines.prepared import prepare
    from dumbbell.results import Store
    from dumbbell.scenario import Scenario
    from dumbbell.studies import study_names

    if not file.exists() and file.as_posix().split("/", 1)[0] in study_names():
        raise BadInput(f"{file}: no such file; expected a scenario file, or `dumbbell reproduce {file.as_posix()}` for the study")
    scenario = Scenario.from_file(file)
    runs = prepare(scenario.expand())
    store = Store(out if out is not None else Path("results") / scenario.name)
    missing = set(store.missing([run.key for run in runs]))
    return ScenarioRuns(scenario.name, runs, [run for run in runs if run.key in missing], store)
