"""`dumbbell bench`: CPU time of the simulator on this machine, compared with its targets."""

from __future__ import annotations

from typing import Annotated

import typer

from dumbbell.cli.output import JsonOption, note, print_columns, print_json
from dumbbell.cli.progress import progress_bar, runs_bar


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Benchmarks. Default: all but sce-draft, which takes minutes, and kernel-*, which need the kernel."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Measure delivered data packets per CPU second (set-up and hand-over included, the best of five runs) and print the targets."""
    from dumbbell.bench.cases import DRAFT, USUAL
    from dumbbell.bench.measure import check, measure
    from dumbbell.bench.present import HEADER, lines

    chosen = names or list(USUAL)
    check(chosen)
    found = {}
    singly = [name for name in chosen if name != DRAFT]
    with progress_bar("bench", "benchmarks", auto_refresh=False) as progress:
        for done, name in enumerate(singly):
            note(f"{name} ...")
            progress(done, len(singly))
            found[name] = measure(name)
    if DRAFT in chosen:
        note(f"{DRAFT} ...")
        with runs_bar(DRAFT) as told:
            found[DRAFT] = measure(DRAFT, told)
    rows = [found[name] for name in chosen]
    if json:
        print_json(rows)
    else:
        print_columns([HEADER, *(line for row in rows for line in lines(row))])
