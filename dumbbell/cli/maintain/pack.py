"""`dumbbell pack DIR`: stored runs as a few files instead of a folder each."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.output import JsonOption, human_size, note, print_columns, print_json
from dumbbell.cli.progress import progress_bar
from dumbbell.errors import BadInput
from dumbbell.results import Store
from dumbbell.results.folder import stores_in
from dumbbell.results.storage.packing import pack
from dumbbell.study.folders import find_folder


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results folder, or a study.")],
    json: JsonOption = False,
) -> None:
    """Put the runs of a results folder into packs: a few files for thousands of runs, which every command reads as before.

    Captures, and the output of real programs, stay in the folders of their runs.
    """
    path = find_folder(folder)
    stores = [Store(each) for each in stores_in(path)]
    if not stores:
        raise BadInput(f"{path}: no results folder is there; expected one written by dumbbell")
    rows = []
    for store in stores:
        before = _size(store.path)
        with progress_bar("packing", "runs") as progress:
            found = pack(store, progress)
        rows.append((store.path, found, before, _size(store.path)))
        for key, why in found.kept.items():
            note(f"{store.path / key}: stays a folder, {why}")
    if json:
        print_json(
            {
                "folders": [
                    {"folder": str(where), **found.__dict__, "bytes_before": before, "bytes": after} for where, found, before, after in rows
                ]
            }
        )
        return
    heads = ("folder", "packed", "packs", "stay folders", "damaged", "before", "now")
    print_columns(
        [
            heads,
            *(
                (where, found.runs, found.packs, len(found.kept), len(found.damaged), human_size(before), human_size(after))
                for where, found, before, after in rows
            ),
        ]
    )


def _size(folder: Path) -> int:
    """Bytes of the files in a folder."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):  # files that a running sweep has there for a moment
                total += os.lstat(os.path.join(place, name)).st_size
    return total
