"""`dumbbell plan FILE`: what a scenario costs, before it is started."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.output import JsonOption, WorkersOption, human_size, human_time, print_columns, print_json


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="plan")(_plan)


def _plan(
    file: Annotated[Path, typer.Argument(help="Scenario file (YAML).")],
    out: Annotated[Path | None, typer.Option("--out", help="Results folder; results/NAME by default.")] = None,
    workers: WorkersOption = None,
    json: JsonOption = False,
) -> None:
    """Show how many runs a scenario has and about what time and disk space they take on this machine."""
    from dumbbell.engines import cost, sim
    from dumbbell.results import Store
    from dumbbell.scenario import Scenario

    scenario = Scenario.from_file(file)
    cells = scenario.expand()
    sim.refuse(cells)
    store = Store(out if out is not None else Path("results") / scenario.name)
    keys = [sim.key(cell) for cell in cells]
    lacking = set(store.missing(keys))
    todo = [cell for cell, key in zip(cells, keys, strict=True) if key in lacking]
    estimate = cost.estimate(todo, workers)
    if json:
        plan = {"name": scenario.name, "out": str(store.path), "runs": len(cells), "missing": len(todo), **estimate.__dict__}
        print_json(plan)
        return
    print_columns(
        [
            ("runs", len(cells)),
            ("missing", f"{len(todo)} (the others are in {store.path})" if len(todo) < len(cells) else len(todo)),
            ("packets", f"at most {estimate.packets:,}"),
            ("time", f"about {human_time(estimate.wall_s)} on {estimate.workers} processors ({human_time(estimate.cpu_s)} of CPU)"),
            ("disk", f"about {human_size(estimate.disk_bytes)} in {store.path}"),
        ]
    )
