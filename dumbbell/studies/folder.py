"""Folders of results, written by `dumbbell reproduce` or `dumbbell run`.

DIR/study.json       study, part and request (reproduce only)
DIR/runs/            store of the runs (`dumbbell run` writes the store to DIR itself)
DIR/tables/ figures/ agreement.md agreement.json
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.errors import BadInput
from dumbbell.files import SafeFolder, parse_json, write_within
from dumbbell.results import Outline, Run, load, outlines
from dumbbell.results.checksums import is_sealed, seal
from dumbbell.results.place import STUDY
from dumbbell.results.store import has_runs
from dumbbell.studies.registry import find_part, study_names
from dumbbell.studies.runs import Runs
from dumbbell.studies.study import Part, Request, Study

if TYPE_CHECKING:
    from dumbbell.results import Store

_RUNS = "runs"
_MOST_NAMED = 5
"""Folders that an error names."""


@dataclass(frozen=True)
class Folder:
    """The contents of a folder of results."""

    path: Path
    study: Study | None
    """None if the runs do not belong to a study."""
    part: Part | None
    request: Mapping[str, Any]
    """The contents of study.json; empty without a study."""
    runs: Runs
    """The valid runs."""
    invalid: tuple[Run, ...]
    """The runs that failed a check, such as packet conservation. No number includes them."""

    @property
    def quick(self) -> bool:
        """Whether only a subset of the cells was requested."""
        return bool(self.request.get("quick", False))


def default_folder(study: Study, part: Part) -> Path:
    """Where `dumbbell reproduce` writes by default: results/STUDY for the first part of a study, results/STUDY-PART for the others."""
    first = next(iter(study.parts.values()))
    return Path("results") / (study.name if part is first else f"{study.name}-{part.name}")


def open_folder(path: Path) -> Folder:
    """Read a folder of results. STUDY or STUDY/PART stands for the default folder. Raises `BadInput` if it is not such a folder."""
    path, request = _find(path)
    study, part = find_part(str(request["study"]), str(request["part"])) if request else (None, None)
    runs = load(_store_path(path, request))
    return Folder(
        path,
        study,
        part,
        request,
        Runs(run for run in runs if run.status != "invalid"),
        tuple(run for run in runs if run.status == "invalid"),
    )


def open_outlines(path: Path) -> tuple[Path, tuple[Outline, ...]]:
    """The path of a folder of results, and what tables show of its valid runs. Much faster than `open_folder`."""
    path, request = _find(path)
    return path, tuple(run for run in outlines(_store_path(path, request)) if run.summary.status != "invalid")


def run_of(path: Path) -> Callable[[Outline], Run]:
    """Reads the whole run of an outline that `open_outlines` gave; its series are checked when they are read."""
    from dumbbell.results import Store

    store = Store(find_store(path))
    return lambda outline: store.get(outline.key)


def find_folder(path: Path) -> Path:
    """The folder of results that a path stands for: the default folder for a study. Raises `BadInput` if that is not there."""
    if path.parts and path.parts[0] in study_names() and not path.exists():
        name = path.as_posix()
        path = default_folder(*find_part(name))
        if not path.exists():
            raise BadInput(f"{path}: no such folder; expected what `dumbbell reproduce {name}` leaves")
    return path


def find_store(path: Path) -> Path:
    """The folder of the runs themselves in a folder of results."""
    return _store_path(path, read_request(path))


def _find(path: Path) -> tuple[Path, dict[str, Any]]:
    """The folder of results that a path stands for, and the contents of its study.json."""
    path = find_folder(path)
    request = read_request(path)
    if not request and path.is_dir() and not (path / STUDY).exists() and not has_runs(path, os.listdir(path)):
        raise _without_results(path)
    return path, request


def _without_results(path: Path) -> BadInput:
    """The error for a folder that holds none: where there are some below it."""
    made = "a folder that `dumbbell run`, `reproduce` or `import` wrote"
    if not any(path.iterdir()):
        return BadInput(f"{path}: is empty; expected {made}")
    below = [each.parent for pattern in (f"*/{STUDY}", f"*/*/{STUDY}") for each in sorted(path.glob(pattern))]
    below = [each for each in below if not (each.name == _RUNS and each.parent in below)]
    if not below:
        return BadInput(f"{path}: holds no results; expected {made}")
    listed = ", ".join(map(str, below[:_MOST_NAMED])) + (f" and {len(below) - _MOST_NAMED} more" if len(below) > _MOST_NAMED else "")
    holds = f"{listed} {'does' if len(below) == 1 else 'do'}"
    return BadInput(f"{path}: holds no results itself, but {holds}; expected {'it' if len(below) == 1 else 'one or several of them'}")


def _store_path(path: Path, request: Mapping[str, Any]) -> Path:
    return SafeFolder(path).below(_RUNS) if request else path


def open_store(path: Path, study: Study, part: Part, request: Request, engine: str) -> Store:
    """Write the request to DIR/study.json and open the store of the runs.

    A request already in the folder is replaced, and its runs are kept and reused, if it has the same study, engine and fitted choices and
    the same part or a part contained in this one. Raises `BadInput` for any other earlier request, or if the folder contains other files.
    """
    from dumbbell.results import Store

    wanted = {"study": study.name, "part": part.name, "engine": engine, **asdict(request)}
    if path.exists() and not path.is_dir():
        raise BadInput(f"{path}: is a file; expected a folder, or a path at which one can be made")
    earlier = read_request(path)
    if path.is_dir() and not earlier and not (path / _RUNS).is_dir() and any(path.iterdir()):
        raise BadInput(f"{path}: holds other files; expected an empty folder or one written by dumbbell reproduce")
    for name in ("study", "part", "engine", "override"):
        contained = name == "part" and earlier.get(name) in [each.name for each in part.parts]
        if earlier and earlier.get(name) != wanted[name] and not contained:
            raise BadInput(f"{path / STUDY}: was made for {name} {earlier.get(name)}; expected {wanted[name]}, or another folder")
    write_within(path, STUDY, seal((json.dumps(wanted, indent=1) + "\n").encode()))
    return Store(SafeFolder(path).below(_RUNS))


def stores_in(folder: Path) -> list[Path]:
    """The folders in `folder`, or itself, in which runs are stored. Raises `BadInput` for a damaged file of `dumbbell reproduce`."""
    found = []
    for place, below, files in os.walk(folder):
        if STUDY in files and _RUNS in below:
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
        if (path / _RUNS).is_dir():
            is_sealed(content)  # earlier versions wrote no checksum
        found = parse_json(content)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        if not (path / _RUNS).is_dir():
            return {}  # of a store, which says itself what is wrong
        again = "remove it, and the same `dumbbell reproduce` writes it again"
        raise BadInput(f"{path / STUDY}: cannot be read ({error}); expected the file that dumbbell wrote ({again})") from None
    return found if isinstance(found, dict) and {"study", "part"} <= found.keys() else {}
