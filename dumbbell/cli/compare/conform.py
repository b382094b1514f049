"""`dumbbell conform CC`: the test cases of a congestion control's specification, run in the simulator."""

from __future__ import annotations

from typing import Annotated

import typer

from dumbbell.cli.output import JsonOption, note, print_json
from dumbbell.cli.tables import print_tables
from dumbbell.comparing.tables import Table
from dumbbell.errors import BadInput, one_of


def command(
    cc: Annotated[str, typer.Argument(metavar="CC", help="Congestion control with test cases: bbr3.")],
    case: Annotated[str | None, typer.Option("--case", metavar="NAMES", help="Cases by name, such as B01,B05. Default: all.")] = None,
    variant: Annotated[
        str | None, typer.Option("--variant", metavar="WORD", help="Variant of the congestion control, such as google.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run the test cases of a specification and say which pass. Exit status 1 if one fails."""
    from dumbbell.conform import SUITES, Outcome

    if cc not in SUITES:
        raise BadInput(f"{cc!r} has no test cases; expected {one_of(SUITES)}")
    suite = SUITES[cc]
    chosen = suite.chosen(case.split(",") if case is not None else None)
    outcomes: list[Outcome] = []
    for each in chosen:
        note(f"{each.name}: {each.title} ...")
        outcomes += suite.run([each], {} if variant is None else {"variant": variant})
    failed = [outcome for outcome in outcomes if not outcome.passed]
    if json:
        print_json(
            {
                "cc": cc,
                "variant": variant,
                "source": suite.source,
                "passed": len(outcomes) - len(failed),
                "failed": len(failed),
                "cases": [outcome.plain() for outcome in outcomes],
            }
        )
    else:
        rows = [[each.case, each.result, f"{each.title}\n{each.criterion}\n{each.reason}"] for each in outcomes]
        print_tables([Table(f"{suite.source}: {len(outcomes) - len(failed)} of {len(outcomes)} pass", ["case", "result", "what"], rows)])
    if failed:
        raise typer.Exit(1)
