"""`dumbbell new NAME`: a ready-made test or an example as a scenario file; `dumbbell new cc|study NAME`: a project of one's own."""

from __future__ import annotations

from typing import Annotated

import typer

from dumbbell.cli.output import JsonOption, note, print_columns, print_json, show
from dumbbell.errors import BadInput, nearest, one_of
from dumbbell.templates import examples, study

_CONTROL, _STUDY = "cc", "study"


def command(
    name: Annotated[
        str | None,
        typer.Argument(help="A test, an example, cc, study, or examples for all of them. Without a name, dumbbell lists the names."),
    ] = None,
    control: Annotated[
        str | None, typer.Argument(metavar="PROJECT", help="After cc or study: the name of your congestion control or study.")
    ] = None,
    language: Annotated[
        str,
        typer.Option("--language", metavar="NAME", help="After cc: c, rust, or bpf for a congestion control that the real kernel loads."),
    ] = "c",
    json: JsonOption = False,
) -> None:
    """Print a ready-made test or an example as a scenario file of your own: `dumbbell new rrul > mine.yaml`.

    `run` and `plan` take the names of tests as well, and other values with --set.

    `dumbbell new examples` writes all examples, with the files that they read, into the folder `examples`.

    `dumbbell new cc mine` writes a congestion control of your own into the folder `mine`: source, header, Makefile, scenario and test.

    `dumbbell new study mine` writes a study of your own: a package that registers it, with the numbers that it is compared with.
    """
    if name == _CONTROL and control is not None:
        _new_control(control, language, json)
    elif name == _STUDY:
        _new_study(control, json)
    elif control is not None:
        raise BadInput(f"{control!r} after {name}; expected one name, or `dumbbell new cc {control}` for a congestion control")
    elif name is None:
        _list(json)
    elif name == examples.FOLDER:
        _new_folder(json)
    else:
        _print(name, json)


def _list(json: bool) -> None:
    from dumbbell import templates

    tests = [(name, templates.summary(name), "test") for name in templates.names()]
    rows = [*tests, *((name, examples.summary(name), "example") for name in examples.names())]
    if json:
        print_json([{"name": name, "kind": kind, "summary": text} for name, text, kind in rows])
    else:
        print_columns([(name, text) for name, text, _ in rows])


def _print(name: str, json: bool) -> None:
    from dumbbell import templates

    found = templates.file(name) if name in templates.names() else examples.file(name)
    if found is None:
        known = (*templates.names(), *examples.names(), _CONTROL, _STUDY)
        expected = f"{one_of(templates.names())}, an example (`dumbbell new` lists them), cc NAME or study NAME"
        raise BadInput(f"unknown test {name!r}{nearest(name, known)}; expected {expected}")
    text = found.read_text(encoding="utf-8")
    needed = examples.needed(name) if name not in templates.names() else []
    if json:
        print_json({"name": name, "text": text, "needs": needed})
        return
    show(text, end="")
    if name == _CONTROL:
        note("this is the test; `dumbbell new cc PROJECT` writes a congestion control of your own")
    if needed:
        note(f"{name} reads {' and '.join(needed)}; `dumbbell new {examples.FOLDER}` writes the examples with these")


def _new_folder(json: bool) -> None:
    written = examples.write()
    if json:
        print_json({"name": examples.FOLDER, "files": list(map(str, written))})
        return
    show(f"{len(written)} files in {examples.FOLDER}")


def _new_control(name: str, language: str, json: bool) -> None:
    from dumbbell.templates import control

    files = control.write(name, language)
    if json:
        print_json({"name": name, "language": language, "files": list(map(str, files))})
        return
    for path in files:
        show(str(path))
    show(f"`make test` in {name} compiles and runs it")


def _new_study(name: str | None, json: bool) -> None:
    if name is None:
        raise BadInput("the study has no name; expected `dumbbell new study NAME`")
    files = study.write(name)
    if json:
        print_json({"name": name, "files": list(map(str, files))})
        return
    for path in files:
        show(str(path))
    show(f"`pip install -e .` in {name} registers it, `dumbbell reproduce {name}` there runs it")
