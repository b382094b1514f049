"""`dumbbell calibrate`: finds how often connections come, and how large the largest are, for a load and a variability."""

from __future__ import annotations

import json as json_
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from dumbbell.cli.executor import ClusterOption, ExecutorOption, WorkersOption, make_executor
from dumbbell.cli.output import JsonOption, note, print_json
from dumbbell.cli.progress import runs_bar
from dumbbell.cli.tables import print_tables
from dumbbell.comparing.tables import Table
from dumbbell.documents.problems import Unfit
from dumbbell.errors import BadInput, nearest
from dumbbell.escaping import csv_text
from dumbbell.files import SafeFolder, creatable, write_within
from dumbbell.results import Store
from dumbbell.scenario import Duration, Rate, Scenario, Size
from dumbbell.study import calibration, find_study, study_names
from dumbbell.study.calibration import Knob, Point, Task, settings_alone


def command(
    what: Annotated[str, typer.Argument(metavar="FILE|STUDY[/NAME]", help="Scenario file, or a study with calibrated background traffic.")],
    load: Annotated[
        str | None, typer.Option("--load", metavar="RATE", help="Target: the mean load of each bottleneck, e.g. 70mbit.")
    ] = None,
    load_within: Annotated[str, typer.Option("--load-within", metavar="RATE", help="Tolerance of the load.")] = "1mbit",
    cov: Annotated[
        float | None, typer.Option("--cov", min=0.0, help="Target: the CoV of the free bandwidth, over bins of 1 s, e.g. 0.05.")
    ] = None,
    vary: Annotated[
        str | None,
        typer.Option("--vary", metavar="KEY=LOW..HIGH", help="Size that dumbbell varies to reach --cov, and the range of the search."),
    ] = None,
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, max=1000, help="Runs of each point. Default: 10.")] = None,
    warm_up: Annotated[str, typer.Option("--warm-up", metavar="TIME", help="Time to leave out at the beginning.")] = "60s",
    window: Annotated[str, typer.Option("--window", metavar="TIME", help="Time to measure after the warm-up.")] = "600s",
    out: Annotated[
        Path | None, typer.Option("--out", callback=creatable, metavar="DIR", help="Results folder. Default: results/calibrate-NAME.")
    ] = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = "threads",
    cluster: ClusterOption = None,
    json: JsonOption = False,
) -> None:
    """Look at the background traffic of a scenario alone, and find the arrivals and the size that give it a load and a variability.

    Without --load and --cov dumbbell measures the traffic as it is. The result is in calibration.csv and calibration.json of the results
    folder, as settings for `dumbbell run --set`. Existing runs are not rerun. A study has its own targets.
    """
    options = {"--load": load, "--cov": cov, "--vary": vary}
    tasks = _of_study(what, [name for name, value in options.items() if value is not None], seeds)
    if tasks is None:
        tasks = [_of_file(Path(what), load, load_within, cov, vary, seeds or 10, (warm_up, window))]
    folder = out if out is not None else Path("results") / f"calibrate-{tasks[0].name if Path(what).is_file() else what.replace('/', '-')}"
    where = make_executor(executor, workers, cluster)
    found: list[tuple[Task, list[Point]]] = []
    for task in tasks:
        with runs_bar(f"calibrate {task.name}") as progress:
            found.append(
                (task, calibration.calibrate(task, calibration.looking(task, Store(SafeFolder(folder).below("runs")), where, progress)))
            )
    document = [
        {
            "name": task.name,
            **points[-1].as_json(),
            "looked_at": [{key: value for key, value in p.as_json().items() if key != "samples"} for p in points],
        }
        for task, points in found
    ]
    rows = [list(calibration.row(task, points[-1]).values()) for task, points in found]
    write_within(folder, "calibration.csv", csv_text([calibration.COLUMNS, *rows]))
    write_within(folder, "calibration.json", json_.dumps(document, indent=1, allow_nan=False) + "\n")
    if json:
        print_json({"out": str(folder), "calibrations": document})
        return
    rows = [
        [
            task.name,
            "result" if point is points[-1] else "",
            *map(calibration.shown, (point.load_mbit, point.cov)),
            _settings(point),
        ]
        for task, points in found
        for point in points
    ]
    print_tables([Table("Background alone", ["name", "", "load (Mbit/s)", "CoV of what is left", "settings"], rows)])
    note(f"{sum(len(points) for _, points in found)} points of {tasks[0].seeds} runs each; {folder / 'calibration.csv'}")


def _of_study(what: str, given: Sequence[str], seeds: int | None) -> list[Task] | None:
    """The backgrounds of a study, or the one that is named; None if no study is meant."""
    from dataclasses import replace

    study, _, wanted = what.partition("/")
    if Path(what).is_file() or study not in study_names():
        return None
    tasks = {task.name: task for task in find_study(study).calibrations()}
    if not tasks:
        raise BadInput(f"{study}: has no calibrated background traffic; expected a scenario file, or a study that has")
    if given:
        raise BadInput(f"{' and '.join(given)}: the study {study} says what is wanted; expected a scenario file with it")
    if wanted and wanted not in tasks:
        raise BadInput(f"{what}: no such background of {study}{nearest(wanted, tasks)}; expected one of {', '.join(tasks)}")
    chosen = [tasks[wanted]] if wanted else list(tasks.values())
    return [replace(task, seeds=seeds or task.seeds) for task in chosen]


def _of_file(
    file: Path, load: str | None, load_within: str, cov: float | None, vary: str | None, seeds: int, times: tuple[str, str]
) -> Task:
    """The background of a scenario file. Raises `BadInput` for options that contradict each other or the file."""
    if (cov is None) != (vary is None):
        raise BadInput(f"{'--vary' if cov is None else '--cov'} was given alone; expected --cov and --vary together")
    mbit = None if load is None else int(_quantity(Rate, "--load", load)) / 1e6
    within = int(_quantity(Rate, "--load-within", load_within)) / 1e6
    if mbit is not None and not 0 < within < mbit:
        raise BadInput(f"--load-within {load_within}: expected a rate above 0 and below {load}")
    warm_up_s, window_s = (int(_quantity(Duration, name, text)) / 1e9 for name, text in zip(("--warm-up", "--window"), times, strict=True))
    if window_s < 2:
        raise BadInput(f"--window {times[1]}: too short for a variability; expected at least 2s")
    scenario = partial(_read, file)
    knob = None if vary is None else _knob(vary)
    named = Scenario.from_file(file).name
    task = Task(named, scenario, mbit, cov, knob, within, seeds, warm_up_s, window_s)
    # An error in the scenario, or in the key, is reported before anything runs.
    for changes in [{}] if knob is None else [{knob.key: f"{size}B"} for size in (knob.low, knob.high)]:
        Scenario.from_file(file, None, changes, "--vary")
        task.scenario({**settings_alone(task), **changes})
    return task


def _read(file: Path, changes: Any) -> Any:
    return Scenario.from_file(file, None, changes, "calibrate")


def _knob(written: str) -> Knob:
    match = re.fullmatch(r"([^=\s]+)=(.+?)\.\.(.+)", written.strip())
    if match is None:
        raise BadInput(f"--vary {written!r}: expected KEY=LOW..HIGH such as background.0.size.pareto.most=1MB..100MB")
    low, high = (int(_quantity(Size, "--vary", text)) for text in match.groups()[1:])
    if not 0 < low < high:
        raise BadInput(f"--vary {written!r}: {match[2]} to {match[3]} is no range; expected the lower one first, above 0B")
    return Knob(match[1], low, high)


def _quantity(kind: Any, option: str, text: str) -> Any:
    try:
        return kind.parse(text)
    except Unfit as error:
        raise BadInput(f"{option}: {error.what}; expected {error.expected}") from None


def _settings(point: Point) -> str:
    return "\n".join(f"{key}={value}" for key, value in point.settings.items()) or "as written"
