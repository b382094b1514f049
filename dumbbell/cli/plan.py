"""`dumbbell plan FILE`: the number of runs of a scenario and their estimated cost."""

from __future__ import annotations

import typer

from dumbbell.cli.executor import WorkersOption
from dumbbell.cli.output import JsonOption, human_size, human_time, print_columns, print_json
from dumbbell.cli.scenario_runs import FileArgument, OutOption, read_scenario


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="plan")(_plan)


def _plan(
    file: FileArgument,
    out: OutOption = None,
    workers: WorkersOption = None,
    json: JsonOption = False,
) -> None:
    """Show how many runs a scenario has and estimate their time and disk space on this machine.

    With --json also the plan of the first run: everything its engine is given, with all defaults filled in.
    """
    from dumbbell.engines import cost

    scenario = read_scenario(file, out)
    runs, todo, store = scenario.runs, scenario.missing, scenario.store
    estimate = cost.estimate(todo, workers)
    if json:
        counted = {"name": scenario.name, "out": str(store.path), "runs": len(runs), "missing": len(todo), **estimate.__dict__}
        print_json({**counted, "plan": runs[0].plan.plain()})
        return
    print_columns(
        [
            ("runs", len(runs)),
            ("missing", f"{len(todo)} (the others are in {store.path})" if len(todo) < len(runs) else len(todo)),
            ("packets", f"at most {estimate.packets:,}"),
            ("time", f"about {human_time(estimate.wall_s)} on {estimate.workers} processors ({human_time(estimate.cpu_s)} of CPU)"),
            ("disk", f"about {human_size(estimate.disk_bytes)} in {store.path}"),
        ]
    )
