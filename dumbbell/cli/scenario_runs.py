"""The arguments that `run`, `plan` and `check` share (a scenario file and a results folder), and reading them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dumbbell.cli.output import note
from dumbbell.errors import BadInput, EnvironmentFault, shortened
from dumbbell.files import creatable

if TYPE_CHECKING:
    from dumbbell.engines.prepared import Prepared
    from dumbbell.engines.sweep import PreparedSweep
    from dumbbell.results import Store
    from dumbbell.scenario import Scenario

FileArgument = Annotated[Path, typer.Argument(help="Scenario file (YAML), or a ready-made test (`dumbbell new` lists them).")]
OutOption = Annotated[Path | None, typer.Option("--out", callback=creatable, help="Results folder; results/NAME by default.")]
MostCellsOption = Annotated[
    int | None, typer.Option("--most-cells", min=1, help="Allow this many runs (cells times repeats); 100,000 by default.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Another value of a key, e.g. path.bottleneck.rate=20mbit; repeatable."),
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
    """Those of `runs` that are not in the folder."""
    folder: Path
    """Of their results, which may not be there yet."""

    @property
    def each(self) -> float:
        """The number of runs that each of `runs` stands for; 1 if they are all."""
        return self.total / len(self.runs)


def read_sample(file: Path, out: Path | None, most_runs: int | None, values: Sequence[str] = ()) -> ScenarioSample:
    """Reads a scenario file, prepares its runs and finds those that are not in the store.

    With more than `SAMPLE` runs, only the first run of each of `SAMPLE` evenly spaced cells is prepared. Where an engine that they need is
    not there, none counts as stored.
    `values`: KEY=VALUE of other settings.
    Raises `BadInput` if one of the prepared runs cannot be run, or if there are more than `most_runs`.
    """
    from dumbbell.engines.prepared import prepare

    scenario, folder = _read(file, out, most_runs, values)
    total = scenario.run_count
    chosen = list(scenario.runs(most_runs)) if total <= SAMPLE else scenario.sample_runs(most_runs, SAMPLE)
    try:
        runs = prepare(chosen)
    except EnvironmentFault as fault:
        note(f"{fault}; without it nobody knows which runs are in {folder}, so that all count as missing")
        runs = prepare(chosen, keyed=False)
        return ScenarioSample(scenario.name, total, runs, runs, folder)
    return ScenarioSample(scenario.name, total, runs, _lacking(runs, folder), folder)


def _lacking(runs: list[Prepared], folder: Path) -> list[Prepared]:
    """Those that are not in a folder of results."""
    if not folder.exists():
        return runs
    from dumbbell.results import Store  # with numpy, which takes as long as a plan

    lacking = set(Store(folder).missing([run.key for run in runs]))
    return [run for run in runs if run.key in lacking]


def read_sweep(file: Path, out: Path | None, most_runs: int | None, values: Sequence[str] = ()) -> tuple[str, PreparedSweep, Store]:
    """Reads a scenario file, and checks all its runs: name of the scenario, runs, and the store for them.

    `values`: KEY=VALUE of other settings.
    Raises `BadInput` if one of them cannot be run, or if there are more than `most_runs`.
    """
    from dumbbell.engines.sweep import PreparedSweep
    from dumbbell.results import Store

    scenario, folder = _read(file, out, most_runs, values)
    return scenario.name, PreparedSweep(scenario, most_runs), Store(folder)


def _read(file: Path, out: Path | None, most_runs: int | None, values: Sequence[str]) -> tuple[Scenario, Path]:
    """The scenario, and the folder of its results."""
    from dumbbell.scenario import Scenario

    scenario = Scenario.from_file(_located(file), most_runs, dict(map(_assignment, values)))
    return scenario, out if out is not None else Path("results") / scenario.name


def _located(file: Path) -> Path:
    """The scenario file that an argument means: a file of that name, else the ready-made test."""
    from dumbbell import templates

    name = file.as_posix()
    if name in templates.names():
        if not file.is_file():
            return templates.file(name)
        note(f"{name}: the file of this folder, not the ready-made test of that name (`dumbbell new {name}`)")
    if file.exists():
        return file
    from dumbbell.scenario import nearest
    from dumbbell.studies import study_names

    if name.split("/", 1)[0] in study_names():
        raise BadInput(f"{name}: no such file; expected a scenario file, or `dumbbell reproduce {name}` for the study")
    if not file.suffix and file.name == name:
        expected = f"a scenario file, or one of the tests {', '.join(templates.names())}"
        raise BadInput(f"{name}: no such file or test{nearest(name, templates.names())}; expected {expected}")
    return file


def _assignment(text: str) -> tuple[str, Any]:
    """The key and the value of KEY=VALUE; the value is YAML."""
    from dumbbell.scenario.source import CHANGES, plain
    from dumbbell.scenario.yaml_reader import YamlError, load

    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        raise BadInput(f"{CHANGES}: {shortened(text)!r} names no key and value; expected KEY=VALUE such as path.rtt=20ms")
    try:
        return key.strip(), plain(load(value))
    except YamlError as error:
        raise BadInput(f"{CHANGES}: {shortened(key)}: {error.what}; expected {error.expected}") from None
