"""`dumbbell bench`: what the simulator costs on this machine, beside what is aimed at."""

from __future__ import annotations

from typing import Annotated

import typer

from dumbbell.cli.output import JsonOption, note, print_columns, print_json, progress_bar


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="bench")(_bench)


def _bench(
    names: Annotated[list[str] | None, typer.Argument(help="Benchmarks; by default all but sce-draft, which takes minutes.")] = None,
    json: JsonOption = False,
) -> None:
    """Measure delivered data packets per CPU second (set-up and hand-over included, the best of five runs) and print the targets."""
    from dumbbell.bench.cases import DRAFT, NAMES
    from dumbbell.bench.measure import check, measure
    from dumbbell.bench.present import HEADER, lines

    chosen = names or [name for name in NAMES if name != DRAFT]
    check(chosen)
    rows = []
    for name in chosen:
        note(f"{name} ...")
        with progress_bar(name) as progress:
            rows.append(measure(name, progress))
    if json:
        print_json(rows)
    else:
        print_columns([HEADER, *(line for row in rows for line in lines(row))])
