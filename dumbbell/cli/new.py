"""`dumbbell new NAME`: a ready-made test as a scenario file."""

from __future__ import annotations

from typing import Annotated

import typer

from dumbbell.cli.output import JsonOption, print_columns, print_json
from dumbbell.errors import BadInput


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="new")(_new)


def _new(
    name: Annotated[str | None, typer.Argument(help="The test; without one the names are listed.")] = None, json: JsonOption = False
) -> None:
    """Print a ready-made test as a scenario file of your own: `dumbbell new rrul > mine.yaml`.

    `run` and `plan` take the names as well, and other values with --set.
    """
    from dumbbell import templates
    from dumbbell.scenario import nearest, one_of

    if name is None:
        rows = [(each, templates.summary(each)) for each in templates.names()]
        print_json([{"name": each, "summary": text} for each, text in rows]) if json else print_columns(rows)
        return
    if name not in templates.names():
        raise BadInput(f"unknown test {name!r}{nearest(name, templates.names())}; expected {one_of(templates.names())}")
    text = templates.file(name).read_text(encoding="utf-8")
    print_json({"name": name, "text": text}) if json else typer.echo(text, nl=False)
