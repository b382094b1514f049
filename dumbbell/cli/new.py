"""`dumbbell new NAME`: a ready-made test as a scenario file; `dumbbell new cc NAME`: the project of a congestion control."""

from __future__ import annotations

from typing import Annotated

import typer

from dumbbell.cli.output import JsonOption, print_columns, print_json
from dumbbell.errors import BadInput

_CONTROL = "cc"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="new")(_new)


def _new(
    name: Annotated[str | None, typer.Argument(help="The test, or cc; without one the tests are listed.")] = None,
    control: Annotated[str | None, typer.Argument(help="After cc: the name of the control.")] = None,
    language: Annotated[str, typer.Option("--language", metavar="NAME", help="Of the control: c or rust.")] = "c",
    json: JsonOption = False,
) -> None:
    """Print a ready-made test as a scenario file of your own: `dumbbell new rrul > mine.yaml`.

    `run` and `plan` take the names as well, and other values with --set.

    `dumbbell new cc mine` writes a congestion control of your own into the folder `mine`: source, header, Makefile, scenario and test.
    """
    from dumbbell import templates
    from dumbbell.scenario import nearest, one_of

    if name == _CONTROL:
        _new_control(control, language, json)
        return
    if control is not None:
        raise BadInput(f"{control!r} after {name}; expected one name, or `dumbbell new cc {control}` for a congestion control")
    if name is None:
        rows = [(each, templates.summary(each)) for each in templates.names()]
        print_json([{"name": each, "summary": text} for each, text in rows]) if json else print_columns(rows)
        return
    if name not in templates.names():
        known = (*templates.names(), _CONTROL)
        raise BadInput(f"unknown test {name!r}{nearest(name, known)}; expected {one_of(templates.names())}, or cc NAME")
    text = templates.file(name).read_text(encoding="utf-8")
    print_json({"name": name, "text": text}) if json else typer.echo(text, nl=False)


def _new_control(name: str | None, language: str, json: bool) -> None:
    from dumbbell.templates import control

    if name is None:
        raise BadInput("the control has no name; expected `dumbbell new cc NAME`")
    files = control.write(name, language)
    if json:
        print_json({"name": name, "language": language, "files": list(map(str, files))})
        return
    for path in files:
        typer.echo(str(path))
    typer.echo(f"`make test` in {name} compiles and runs it")
