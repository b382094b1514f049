"""The arguments that `run`, `plan` and `check` share (a scenario file and a results folder), and reading them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dumbbell.cli.output import note
from dumbbell.documents.source import plain
from dumbbell.documents.yaml_reader import YamlError, load
from dumbbell.engines.prepared import Prepared
from dumbbell.errors import BadInput, EnvironmentFault, nearest, shortened
from dumbbell.files import creatable
from dumbbell.running.prepare import prepare
from dumbbell.running.sweep import PreparedSweep
from dumbbell.scenario import Scenario

if TYPE_CHECKING:
    from dumbbell.results import Store

_OPTION = "--set"
FileArgument = Annotated[Path, typer.Argument(help="Scenario file (YAML), or a ready-made test (`dumbbell new` lists them).")]
OutOption = Annotated[Path | None, typer.Option("--out", callback=creatable, help="Results folder. Default: results/NAME.")]
MostCellsOption = Annotated[
    int | None, typer.Option("--most-cells", min=1, help="Allow this many runs (cells times seeds). Default: 100,000.")
]
AllowLibraryOption = Annotated[
    bool, typer.Option("--allow-library", help="Load and run the libraries that it names as congestion controls.")
]
AllowProgramOption = Annotated[
    bool, typer.Option("--allow-program", help="Run the programs that it describes, in the guest of the engine kernel.")
]
AllowModuleOption = Annotated[
    bool,
    typer.Option("--allow-module", help="Let the guest's kernel load modules and BPF programs that it names as congestion controls."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(_OPTION, metavar="KEY=VALUE", help="Another value of a key, e.g. path.bottleneck.rate=20mbit. Repeatable."),
]
SAMPLE = 300
"""Runs of a larger sweep that `plan` prepares."""


@dataclass(frozen=True)
class Missing:
    """A run that is not stored, and how many it stands for: itself, others of a sample, and runs with further seeds."""

    run: Prepared
    least: float
    most: float


@dataclass(frozen=True)
class ScenarioSample:
    """The runs of a scenario file, or a sample of them."""

    name: str
    least: int
    """The number of runs that the scenario has; with `until` at least, and `most` at most."""
    most: int
    runs: list[Prepared]
    """Runs that were checked."""
    is_sample: bool
    """True if there are cells without a checked run."""
    missing: list[Missing]
    folder: Path
    """Folder of their results, which may not be there yet."""


def read_sample(file: Path, out: Path | None, most_runs: int | None, values: Sequence[str] = ()) -> ScenarioSample:
    """Read a scenario file, prepare its runs and find those that are not in the store.

    With more than `SAMPLE` runs, only the first run of each of `SAMPLE` evenly spaced cells is prepared. With `until` it is the first run
    of each cell, or of as many cells as have no more runs. If an engine that they need is missing, no run counts as stored. `values`:
    KEY=VALUE of other settings. Raises `BadInput` if one of the prepared runs cannot be run, or if there are more than `most_runs`.
    """
    scenario, folder = read_scenario(file, out, most_runs, values)
    least, most = scenario.cell_count * scenario.least_repeats, scenario.run_count
    is_sample = least > SAMPLE
    cells = scenario.spread(SAMPLE if scenario.until is None else max(SAMPLE // scenario.least_repeats, 1)) if is_sample else None
    if is_sample or scenario.until is not None:
        chosen = list(scenario.repeats(((cell, range(1)) for cell in cells or range(scenario.cell_count)), most_runs))
    else:
        chosen = list(scenario.runs(most_runs))
    if scenario.until is not None:
        from dumbbell.running.until.rule import Rule

        Rule.of(scenario)  # raises if the rule has an error
    try:
        runs = prepare(chosen)
    except EnvironmentFault as fault:
        note(f"{fault}; without it nobody knows which runs are in {folder}, so that all count as missing")
        runs = prepare(chosen, keyed=False)
    each = least / len(runs), most / len(runs)
    if not folder.exists() or not runs[0].key:
        missing = [Missing(run, *each) for run in runs]
    elif scenario.until is None:
        from dumbbell.results import Store

        lacking = set(Store(folder).missing([run.key for run in runs]))
        missing = [Missing(run, *each) for run in runs if run.key in lacking]
    else:
        missing = list(_missing_repeats(scenario, folder, cells or range(scenario.cell_count), runs))
    return ScenarioSample(scenario.name, least, most, runs, is_sample, missing, folder)


def _missing_repeats(scenario: Scenario, folder: Path, cells: Sequence[int], firsts: Sequence[Prepared]) -> Iterator[Missing]:
    """Yield what is missing for the runs of these cells, whose first runs are `firsts`; the cells stand for all."""
    from dumbbell.results import Store
    from dumbbell.running.until.rounds import asked_so_far

    share = scenario.cell_count / len(cells)
    for asked, first in zip(asked_so_far(scenario, Store(folder), cells), firsts, strict=True):
        if asked.missing or asked.most > asked.least:
            yield Missing(first, share * asked.missing, share * (asked.missing + asked.most - asked.least))


def read_sweep(file: Path, out: Path | None, most_runs: int | None) -> tuple[PreparedSweep, Store]:
    """Reads a scenario file, and checks all its runs: these, with `until` those that the stored ones ask for, and the store for them.

    Raises `BadInput` if one of them cannot be run, or if there are more than `most_runs`.
    """
    from dumbbell.results import Store

    scenario, folder = read_scenario(file, out, most_runs)
    store = Store(folder)
    if scenario.until is None:
        return PreparedSweep(scenario, most_runs), store
    from dumbbell.running.until.rounds import asked_so_far

    asked = asked_so_far(scenario, store, range(scenario.cell_count), most_runs)
    return PreparedSweep(scenario, most_runs, [(each.cell, range(each.least)) for each in asked]), store


def read_scenario(file: Path, out: Path | None, most_runs: int | None, values: Sequence[str] = ()) -> tuple[Scenario, Path]:
    """The scenario, and the folder of its results. `values`: KEY=VALUE of other settings. Raises `BadInput`."""
    scenario = Scenario.from_file(_located(file), most_runs, dict(map(_assignment, values)), _OPTION)
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
    from dumbbell.study import study_names  # with numpy, which takes as long as a plan

    if name.split("/", 1)[0] in study_names():
        raise BadInput(f"{name}: no such file; expected a scenario file, or `dumbbell reproduce {name}` for the study")
    if not file.suffix and file.name == name:
        expected = f"a scenario file, or one of the tests {', '.join(templates.names())}"
        raise BadInput(f"{name}: no such file or test{nearest(name, templates.names())}; expected {expected}")
    return file


def _assignment(text: str) -> tuple[str, Any]:
    """The key and the value of KEY=VALUE; the value is YAML."""
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        raise BadInput(f"{_OPTION}: {shortened(text)!r} names no key and value; expected KEY=VALUE such as path.rtt=20ms")
    try:
        return key.strip(), plain(load(value))
    except YamlError as error:
        raise BadInput(f"{_OPTION}: {shortened(key)}: {error.what}; expected {error.expected}") from None
