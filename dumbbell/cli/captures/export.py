"""`dumbbell export DIR`: runs as files of other tools."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.cli.output import JsonOption, note, print_json
from dumbbell.errors import BadInput
from dumbbell.exchange.exported import Exported, file_name, write_all, writer
from dumbbell.exchange.formats import WRITTEN
from dumbbell.files import creatable_folder
from dumbbell.results import Run
from dumbbell.results.folder import open_folder
from dumbbell.study.folders import find_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


Format = StrEnum("Format", {name.upper().replace("-", "_"): name for name in WRITTEN})  # type: ignore[misc]
"""Formats of an export."""


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results folder, or a study.")],
    form: Annotated[Format, typer.Option("--format", help="Format to write.")],
    out: Annotated[Path, typer.Option("--out", callback=creatable_folder, help="Folder of the files.")],
    run: Annotated[
        str | None, typer.Option("--run", metavar="KEY", help="Only the run with these first characters of its key. Default: all.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write runs as files of other tools: Flent, iperf3, xplot, mahimahi, TEACUP, qlog, or their series as CSV or Parquet."""
    opened = open_folder(find_folder(folder))
    chosen = _chosen([*opened.runs, *opened.invalid], run, opened.path)
    new = not out.exists()
    written = write_all(out, _exports(chosen, str(form)))
    if json:
        print_json([str(path) for path in written])
    files = f"{len(written)} {'file' if len(written) == 1 else 'files'}"
    note(f"{files} of {len(chosen)} {'run' if len(chosen) == 1 else 'runs'} in {out}{', a new folder' if new else ''}")


def _chosen(runs: Sequence[Run], key: str | None, path: Path) -> list[Run]:
    """Raises `BadInput` if no run, or not one, has a key that begins so."""
    if key is None:
        if not runs:
            raise BadInput(f"{path}: holds no runs; expected a folder with at least one")
        return list(runs)
    found = {run.key: run for run in runs if run.key.startswith(key)}
    if len(found) != 1:
        what = "is the beginning of no run's key" if not found else f"is the beginning of {len(found)} runs' keys"
        raise BadInput(f"--run {key!r}: {what} in {path}; expected that of one")
    return list(found.values())


def _exports(runs: Sequence[Run], form: str) -> Iterator[Exported]:
    write = writer(form)
    for run in runs:
        export = write(run, file_name(run))
        if export.left_out:
            note(
                f"{run.name} ({run.key[:10]}): without {', '.join(export.left_out)}, which {form} has no place for or which have no samples"
            )
        if run.status == "invalid":
            note(f"{run.name} ({run.key[:10]}): is invalid: {'; '.join(run.reasons)}")
        yield export
