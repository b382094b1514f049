"""`dumbbell plan FILE`: a sketch of a scenario's network, the number of its runs and their estimated cost."""

from __future__ import annotations

import typer

from dumbbell.cli.executor import WorkersOption
from dumbbell.cli.hosts import HostsOption
from dumbbell.cli.output import JsonOption, human_size, human_time, print_columns, print_json
from dumbbell.cli.scenario_runs import FileArgument, MostCellsOption, OutOption, SetOption, read_sample
from dumbbell.errors import printable


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="plan")(_plan)


def _plan(
    file: FileArgument,
    values: SetOption = None,
    out: OutOption = None,
    workers: WorkersOption = None,
    most_cells: MostCellsOption = None,
    hosts: HostsOption = None,  # noqa: ARG001
    json: JsonOption = False,
) -> None:
    """Sketch the network of a scenario's first run, show how many runs it has, and estimate their time and disk space on this machine.

    Of more than 300 runs a sample is checked and the rest estimated from it; `dumbbell run` checks all.
    With --json also the plan of the first run: everything its engine is given, with all defaults filled in.
    """
    from dumbbell.engines import cost
    from dumbbell.plan.sketch import sketch

    scenario = read_sample(file, out, most_cells, values or ())
    folder, total, checked = scenario.folder, scenario.total, len(scenario.runs)
    estimate = cost.estimate(scenario.missing, workers, scenario.each)
    missing = round(scenario.each * len(scenario.missing))
    loads = {path: sha256 for run in scenario.runs for sha256, path in run.libraries.items()}
    if json:
        counted = {"name": scenario.name, "out": str(folder), "runs": total, "checked": checked, "missing": missing}
        print_json({**counted, **estimate.__dict__, "libraries": loads, "plan": scenario.runs[0].plan.plain()})
        return
    about = "" if checked == total else "about "
    rows = [
        ("runs", str(total)),
        ("missing", f"{about}{missing} (the others are in {folder})" if missing < total else str(missing)),
        ("packets", f"at most {about}{estimate.packets:,}"),
        ("time", f"about {human_time(estimate.wall_s)} on {estimate.workers} processors ({human_time(estimate.cpu_s)} of CPU)"),
        ("disk", f"about {human_size(estimate.disk_bytes)} in {folder}"),
    ]
    rows += [("loads", f"{path} (SHA-256 {sha256[:10]}), with `dumbbell run --allow-library` only") for path, sha256 in loads.items()]
    if checked < total:
        rows.insert(1, ("checked", f"{checked} runs, evenly spaced (`dumbbell run` checks all)"))
    for line in sketch(scenario.runs[0].plan):
        typer.echo(printable(line))
    typer.echo()
    print_columns(rows)
