"""Folders of results, written by `dumbbell run`, `reproduce` or `import`. No study is known here: see `dumbbell/study/folders.py`.

DIR/study.json       study, part and request (reproduce only)
DIR/runs/            store of the runs (`dumbbell run` writes the store to DIR itself)
DIR/tables/ figures/ agreement.md agreement.json
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.errors import BadInput, DamagedRun
from dumbbell.files import SafeFolder, parse_json
from dumbbell.results import Outline, Run, leave_out, load, outlines
from dumbbell.results.runs import Runs
from dumbbell.results.storage.checksums import is_sealed
from dumbbell.results.storage.place import STUDY
from dumbbell.results.storage.store import has_runs
from dumbbell.results.summary import summarise_window
from dumbbell.results.windowed import WHOLE, Window

RUNS = "runs"
"""The folder of the runs of a study."""
_MOST_NAMED = 5
"""Folders that an error names."""


@dataclass(frozen=True)
class Folder:
    """The contents of a folder of results."""

    path: Path
    request: Mapping[str, Any]
    """The contents of study.json; empty without a study."""
    runs: Runs
    """The valid runs."""
    invalid: tuple[Run, ...]
    """The runs that failed a check, such as packet conservation. No number includes them."""

    @property
    def quick(self) -> bool:
        """True if only a subset of the cells was requested."""
        return bool(self.request.get("quick", False))


def open_folder(path: Path) -> Folder:
    """Read a folder of results. Raises `BadInput` if it is not such a folder."""
    request = _request_of(path)
    runs = load(_store_path(path, request))
    return Folder(
        path,
        request,
        Runs(run for run in runs if run.status != "invalid"),
        tuple(run for run in runs if run.status == "invalid"),
    )


def open_outlines(path: Path, window: Window = WHOLE) -> tuple[Outline, ...]:
    """The valid runs of a folder of results, as tables show them. Much faster than `open_folder`, unless a `window` is asked for: then the
    series of all runs are read. Damaged runs are left out, with a warning."""
    if window.is_whole:
        return tuple(run for run in outlines(_store_path(path, _request_of(path))) if run.summary.status != "invalid")
    found = []
    for run in load(_store_path(path, _request_of(path)), check_series=False):
        if run.status == "invalid":
            continue
        try:
            found.append(Outline(run.cell, summarise_window(run, window), run.name, run.key))
        except DamagedRun as damage:
            leave_out(damage)
    return tuple(found)


def run_of(path: Path) -> Callable[[Outline], Run]:
    """Reads the whole run of an outline that `open_outlines` gave; its series are checked when they are read."""
    from dumbbell.results import Store

    store = Store(find_store(path))
    return lambda outline: store.get(outline.key)


def find_store(path: Path) -> Path:
    """The folder of the runs themselves in a folder of results."""
    return _store_path(path, read_request(path))


def _request_of(path: Path) -> dict[str, Any]:
    """The contents of study.json of a folder of results. Raises `BadInput` if it is not such a folder."""
    request = read_request(path)
    if not request and path.is_dir() and not (path / STUDY).exists() and not has_runs(path, os.listdir(path)):
        raise _without_results(path)
    return request


def _without_results(path: Path) -> BadInput:
    """The error for a folder that holds none: where there are some below it."""
    made = "a folder that `dumbbell run`, `reproduce` or `import` wrote"
    if not any(path.iterdir()):
        return BadInput(f"{path}: is empty; expected {made}")
    below = [each.parent for pattern in (f"*/{STUDY}", f"*/*/{STUDY}") for each in sorted(path.glob(pattern))]
    below = [each for each in below if not (each.name == RUNS and each.parent in below)]
    if not below:
        return BadInput(f"{path}: holds no results; expected {made}")
    listed = ", ".join(map(str, below[:_MOST_NAMED])) + (f" and {len(below) - _MOST_NAMED} more" if len(below) > _MOST_NAMED else "")
    holds = f"{listed} {'does' if len(below) == 1 else 'do'}"
    return BadInput(f"{path}: holds no results itself, but {holds}; expected {'it' if len(below) == 1 else 'one or several of them'}")


def _store_path(path: Path, request: Mapping[str, Any]) -> Path:
    return SafeFolder(path).below(RUNS) if request else path


def stores_in(folder: Path) -> list[Path]:
    """The folders in `folder`, or itself, in which runs are stored. Raises `BadInput` for a damaged file of `dumbbell reproduce`."""
    found = []
    for place, below, files in os.walk(folder):
        if STUDY in files and RUNS in below:
            read_request(Path(place))
        elif STUDY in files or has_runs(Path(place), below):
            found.append(Path(place))
            below.clear()
        below.sort()
    return found


def read_request(path: Path) -> dict[str, Any]:
    """The contents of DIR/study.json; empty if the folder does not belong to a study. Raises `BadInput` if it cannot be read."""
    try:
        content = SafeFolder(path).read(STUDY)
        if (path / RUNS).is_dir():
            is_sealed(content)  # earlier versions wrote no checksum
        found = parse_json(content)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        if not (path / RUNS).is_dir():
            return {}  # of a store, which says itself what is wrong
        again = "remove it, and the same `dumbbell reproduce` writes it again"
        raise BadInput(f"{path / STUDY}: cannot be read ({error}); expected the file that dumbbell wrote ({again})") from None
    return found if isinstance(found, dict) and {"study", "part"} <= found.keys() else {}
