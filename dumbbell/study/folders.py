"""Folders of results of a study: where `dumbbell reproduce` writes them, and what they say of the study."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.errors import BadInput
from dumbbell.study.today import is_kernel

if TYPE_CHECKING:
    from dumbbell.results import Store
    from dumbbell.results.folder import Folder
    from dumbbell.study.model import Part, Request, Study


def default_folder(study: Study, part: Part, engine: str = "") -> Path:
    """Where `dumbbell reproduce` writes by default: results/STUDY for the first part of a study, results/STUDY-PART for the others, each
    with `-on-kernel` for the engine `kernel`."""
    first = next(iter(study.parts.values()))
    name = study.name if part is first else f"{study.name}-{part.name}"
    return Path("results") / (f"{name}-on-kernel" if is_kernel(engine) else name)


def find_folder(path: Path) -> Path:
    """The folder of results that a path stands for: of STUDY or STUDY/PART the default one. Raises `BadInput` if that is not there.

    A path that exists stands for itself, and no study is looked for.
    """
    if path.exists() or not path.parts:
        return path
    from dumbbell.study.registry import find_part, study_names

    if path.parts[0] not in study_names():
        return path
    name = path.as_posix()
    found = default_folder(*find_part(name))
    if not found.exists():
        raise BadInput(f"{found}: no such folder; expected what `dumbbell reproduce {name}` leaves")
    return found


def study_of(folder: Folder) -> tuple[Study, Part] | None:
    """The study and the part that a folder of results belongs to, if any. Raises `BadInput` if there is no such study here."""
    if not folder.request:
        return None
    from dumbbell.study.registry import find_part

    return find_part(str(folder.request["study"]), str(folder.request["part"]))


def part_of(folder: Folder) -> Part | None:
    """The part alone."""
    found = study_of(folder)
    return None if found is None else found[1]


def open_store(path: Path, study: Study, part: Part, request: Request, engine: str) -> Store:
    """Write the request to DIR/study.json and open the store of the runs.

    A request already in the folder is replaced, and its runs are kept and reused, if it has the same study, engine and fitted choices and
    the same part or a part contained in this one. Raises `BadInput` for any other earlier request, or if the folder contains other files.
    """
    from dumbbell.files import SafeFolder, write_within
    from dumbbell.results import Store
    from dumbbell.results.folder import RUNS, read_request
    from dumbbell.results.storage.checksums import seal
    from dumbbell.results.storage.place import STUDY

    wanted = {"study": study.name, "part": part.name, "engine": engine, **asdict(request)}
    if path.exists() and not path.is_dir():
        raise BadInput(f"{path}: is a file; expected a folder, or a path at which one can be made")
    earlier = read_request(path)
    if path.is_dir() and not earlier and not (path / RUNS).is_dir() and any(path.iterdir()):
        raise BadInput(f"{path}: holds other files; expected an empty folder or one written by dumbbell reproduce")
    for name in ("study", "part", "engine", "override"):
        contained = name == "part" and earlier.get(name) in [each.name for each in part.parts]
        if earlier and earlier.get(name) != wanted[name] and not contained:
            raise BadInput(f"{path / STUDY}: was made for {name} {earlier.get(name)}; expected {wanted[name]}, or another folder")
    write_within(path, STUDY, seal((json.dumps(wanted, indent=1) + "\n").encode()))
    return Store(SafeFolder(path).below(RUNS))
