"""`dumbbell reproduce STUDY`: runs a published study and compares dumbbell's values with the published ones."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.executor import ClusterOption, ExecutorOption, WorkersOption, make_executor
from dumbbell.cli.figure_options import FromOption, SizeOption, ToOption, view_of
from dumbbell.cli.hosts import HostsOption
from dumbbell.cli.output import JsonOption, human_time, note, print_json
from dumbbell.cli.progress import progress_bar, runs_bar
from dumbbell.cli.study_command import StudyCommand
from dumbbell.cli.tables import print_tables
from dumbbell.comparing.difference import below_bar
from dumbbell.engines import default
from dumbbell.files import creatable
from dumbbell.study import Request, find_part
from dumbbell.study.folders import default_folder
from dumbbell.study.reproduction import run_ablations, run_part, write_report

command_class = StudyCommand


def command(
    study: Annotated[str, typer.Argument(help="Study, or STUDY/PART. `dumbbell list study` names the studies.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", callback=creatable, metavar="DIR", help="Results folder. Default: results/STUDY, or results/STUDY-PART."),
    ] = None,
    part: Annotated[str | None, typer.Option("--part", help="Part of the study. Default: its first.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A representative subset of the cells, each at full length.")] = False,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", min=1, max=1000, help="Runs of each cell, with jittered starts. Default: the number of the study."),
    ] = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = "threads",
    cluster: ClusterOption = None,
    hosts: HostsOption = None,  # noqa: ARG001
    engine: Annotated[
        str | None, typer.Option("--engine", help="Engine. `dumbbell list engine` names the engines, the default first.")
    ] = None,
    ablations: Annotated[bool, typer.Option("--ablations", help="Also run without each fitted choice.")] = False,
    figures: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw the figures.")] = True,
    check: Annotated[bool, typer.Option("--check", help="Exit status 1 if the agreement misses the study's target.")] = False,
    size: SizeOption = "screen",
    from_s: FromOption = 0.0,
    to_s: ToOption = None,
    json: JsonOption = False,
) -> None:
    """Run a published study and compare with the published numbers. Existing runs in the results folder are not rerun."""
    where = make_executor(executor, workers, cluster)
    engine = engine or default()
    chosen, chosen_part = find_part(study, part, engine)
    out = out or default_folder(chosen, chosen_part, engine)
    request = Request(quick=quick, seeds=seeds or (min(chosen_part.quick_seeds, chosen_part.seeds) if quick else chosen_part.seeds))
    view = view_of(size, from_s, to_s)
    began = time.perf_counter()
    with runs_bar(f"{chosen.name}/{chosen_part.name}") as progress:
        done = run_part(chosen, chosen_part, request, engine, out, where, progress)
    wall_s = time.perf_counter() - began
    with progress_bar("report", "figures") as drawing:
        drawn = write_report(done, view, figures, drawing)
    without = None
    if ablations:
        with runs_bar("ablations") as progress:
            without = run_ablations(chosen, chosen_part, request, engine, out, where, progress)

    lacking = [line for each in chosen_part.formats for line in below_bar(done.differences[each.name], each)] if check else []
    lacking += done.claims_below_bar() if check else []
    if json:
        print_json({**done.as_json(), "wall_s": wall_s, "out": str(out), "figures": [str(path) for path in drawn], "below_bar": lacking})
    else:
        print_tables([*done.tables(), *([without] if without else [])])
    for line in done.notes:
        note(line)
    for line in lacking:
        note(f"below the target: {line}")
    note(f"{len(done.folder.runs)} runs in {human_time(wall_s)}; tables in {out / 'tables'}, agreement in {out / 'agreement.md'}")
    if drawn:
        note(f"figures in {out / 'figures'}: {', '.join(dict.fromkeys(path.stem for path in drawn))}")
    if done.folder.invalid or lacking:
        raise typer.Exit(1)
