"""A run in the format of another tool, and writing it: all files of an export, or none."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from dumbbell.exchange.formats import WRITTEN
from dumbbell.files import SafeFolder, partial_name, temporary, writing

if TYPE_CHECKING:
    from dumbbell.results import Run

_LONGEST_NAME = 150


@dataclass(frozen=True)
class Exported:
    """A run in the format of another tool."""

    files: Mapping[str, bytes]
    """By name."""
    shared: Mapping[str, bytes] = field(default_factory=dict)
    """Content to be added to files that several runs share, by name."""
    left_out: tuple[str, ...] = ()
    """Parts of the run that the format cannot hold."""


Write: TypeAlias = Callable[["Run", str], Exported]
"""Make the files of a run, whose names begin with a text. Raises `BadInput` if the run lacks something that the format needs."""


def writer(form: str) -> Write:
    """The function that writes one of the formats."""
    return import_module(f"dumbbell.exchange.writers.{WRITTEN[form]}").write  # type: ignore[no-any-return]


def file_name(run: Run) -> str:
    """Return the beginning of the names of a run's files: its name, its coordinates and the beginning of its key."""
    words = [run.name, *(f"{key.rsplit('.', 1)[-1]}-{value}" for key, value in run.cell.items())]
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '_', '-'.join(words)).lstrip('.')[:_LONGEST_NAME]}-{run.key[:10]}"


def write_all(folder: Path, exports: Iterable[Exported]) -> list[Path]:
    """Writes the files of several runs to a folder, which is made. Files of the same names are replaced.

    They appear once all are written. Raises `BadInput` if they cannot be written, `EnvironmentFault` if the disk is full.
    """
    names: dict[str, None] = {}
    there = SafeFolder(folder)
    with writing(folder / "files"), temporary(folder / partial_name()) as half:
        there.make(half.name)
        for export in exports:
            for contents, how in ((export.files, os.O_TRUNC), (export.shared, os.O_APPEND)):
                for name, content in contents.items():
                    with os.fdopen(there.open(f"{half.name}/{name}", os.O_WRONLY | os.O_CREAT | how), "wb") as file:
                        file.write(content)
            names |= dict.fromkeys((*export.files, *export.shared))
        for name in names:
            there.rename(f"{half.name}/{name}", name)
    return [folder / name for name in names]
