"""`dumbbell import FILE...`: measurements of other tools as runs."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.output import JsonOption, note, print_json
from dumbbell.comparing.across.coordinates import ENGINE, FOLDER, NAME
from dumbbell.comparing.across.derived import ALL_COLUMNS
from dumbbell.comparing.across.tables import ROWS
from dumbbell.errors import BadInput
from dumbbell.exchange.formats import READ
from dumbbell.exchange.imported import runs_of
from dumbbell.files import creatable_folder
from dumbbell.results import Store
from dumbbell.running.machine import host

Format = StrEnum("Format", {name.upper().replace("-", "_"): name for name in READ})  # type: ignore[misc]
"""Formats of an import."""


def command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files of other tools, packed (gz, bz2, xz) or not.")],
    out: Annotated[Path, typer.Option("--out", callback=creatable_folder, help="Results folder that the runs are added to.")],
    cell: Annotated[
        list[str] | None,
        typer.Option("--cell", metavar="NAME=VALUE", help="A coordinate of these runs, for tables, plots and compare. Repeatable."),
    ] = None,
    form: Annotated[Format | None, typer.Option("--format", help="Format of the files. Default: dumbbell detects it.")] = None,
    json: JsonOption = False,
) -> None:
    """Read measurements of other tools as runs, so that table, plot, view and export work on them.

    An imported run has the status warn, and its run.json lists the facts that are not known. If dumbbell cannot use one of the files, it
    writes nothing.
    """
    coordinates = dict(map(_coordinate, cell or ()))
    runs = [replace(run, cell={**run.cell, **coordinates}) for run in runs_of(files, None if form is None else str(form))]
    new = not out.exists()
    store = Store(out)
    store.request((run.name, run.cell, run.key) for run in runs)
    for run in runs:
        store.write(run, shlex.join(sys.argv), host())
    if json:
        print_json([{"key": run.key, "name": run.name, "cell": dict(run.cell), "reasons": list(run.reasons)} for run in runs])
    for run in runs:
        note(f"{run.key[:10]}  {run.cell['file']}: {'; '.join(run.reasons[2:])}")
    count = f"{len(runs)} {'run' if len(runs) == 1 else 'runs'} of {len(files)} {'file' if len(files) == 1 else 'files'}"
    note(f"{count} in {out}{', a new folder' if new else ''}")


def _columns() -> set[str]:
    """Columns of tables in addition to the coordinates of runs."""
    return {ENGINE, FOLDER, NAME, "runs", "metric", "value"}.union(*ALL_COLUMNS.values(), *ROWS.values())


def _coordinate(written: str) -> tuple[str, str | int | float]:
    """Name and value, a number if it can be one."""
    name, equals, value = written.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,99}", name) or not value or len(value) > 100 or not value.isprintable():
        raise BadInput(f"--cell {written!r}: expected NAME=VALUE, such as cc=cubic")
    if name in ("file", "run"):
        raise BadInput(f"--cell {written!r}: {name} says which measurement it is; expected another name")
    if name in _columns():
        raise BadInput(f"--cell {written!r}: tables have a column {name} already; expected another name, such as asked_{name}")
    if re.fullmatch(r"-?\d{1,15}", value):
        return name, int(value)
    return name, float(value) if re.fullmatch(r"-?\d{1,15}\.\d{1,15}", value) else value
