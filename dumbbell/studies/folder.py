"""A folder of results, as `dumbbell reproduce` or `dumbbell run` left it.

DIR/study.json       study, part and what was asked of it (reproduce only)
DIR/runs/            the store of the runs (of `run`: DIR itself)
DIR/tables/ figures/ agreement.md agreement.json
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.errors import BadInput
from dumbbell.files import writing
from dumbbell.results import Run, load
from dumbbell.studies.registry import find_part, study_names
from dumbbell.studies.runs import Runs
from dumbbell.studies.study import Part, Request, Study

if TYPE_CHECKING:
    from dumbbell.results import Store

_STUDY = "study.json"
_RUNS = "runs"


@dataclass(frozen=True)
class Folder:
    """What a folder holds."""

    path: Path
    study: Study | None
    """None if the runs are no study's."""
    part: Part | None
    asked: Mapping[str, Any]
    """The request as written in study.json; empty without a study."""
    runs: Runs
    """The runs to believe."""
    invalid: tuple[Run, ...]
    """The runs that broke a law: left out of every number."""

    @property
    def quick(self) -> bool:
        """Whether only a subset of the cells was asked for."""
        return bool(self.asked.get("quick", False))


def default_folder(study: Study, part: Part) -> Path:
    """Where `dumbbell reproduce` writes unless it is told: results/STUDY, of a part other than the first results/STUDY-PART."""
    first = next(iter(study.parts.values()))
    return Path("results") / (study.name if part is first else f"{study.name}-{part.name}")


def open_folder(path: Path) -> Folder:
    """Read a folder of results; the name of a study, or of a part as STUDY/PART, stands for its default folder. BadInput if it is none."""
    if path.parts and path.parts[0] in study_names() and not path.exists():
        name = path.as_posix()
        path = default_folder(*find_part(name))
        if not path.exists():
            raise BadInput(f"{path}: no such folder; expected what `dumbbell reproduce {name}` leaves")
    asked = _read_request(path)
    study, part = find_part(str(asked["study"]), str(asked["part"])) if asked else (None, None)
    runs = load(path / _RUNS if asked else path)
    return Folder(
        path,
        study,
        part,
        asked,
        Runs(run for run in runs if run.status != "invalid"),
        tuple(run for run in runs if run.status == "invalid"),
    )


def begin(path: Path, study: Study, part: Part, request: Request, engine: str) -> Store:
    """Note in DIR/study.json what is asked, and give the store of the runs.

    An earlier request of the same study, part (or one that the part holds), engine and fitted choices is replaced (its runs stay and are
    used); BadInput on any other, or on a folder that holds something else.
    """
    from dumbbell.results import Store

    wanted = {"study": study.name, "part": part.name, "engine": engine, **asdict(request)}
    if path.exists() and not path.is_dir():
        raise BadInput(f"{path}: is a file; expected a folder, or a path at which one can be made")
    earlier = _read_request(path)
    if path.is_dir() and not earlier and any(path.iterdir()):
        raise BadInput(f"{path}: holds other files; expected an empty folder or one written by dumbbell reproduce")
    for name in ("study", "part", "engine", "override"):
        grows = name == "part" and earlier.get(name) in [each.name for each in part.parts]
        if earlier and earlier.get(name) != wanted[name] and not grows:
            raise BadInput(f"{path / _STUDY}: was made for {name} {earlier.get(name)}; expected {wanted[name]}, or another folder")
    partial = path / f".{_STUDY}.{os.getpid()}"
    with writing(path / _STUDY):
        partial.write_text(json.dumps(wanted, indent=1) + "\n", encoding="utf-8")
        partial.replace(path / _STUDY)
    return Store(path / _RUNS)


def _read_request(path: Path) -> dict[str, Any]:
    """The request in DIR/study.json; empty if the folder is not that of a study."""
    try:
        found = json.loads((path / _STUDY).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise BadInput(f"{path / _STUDY}: cannot be read ({error}); expected the file that dumbbell wrote") from None
    return found if isinstance(found, dict) and {"study", "part"} <= found.keys() else {}
