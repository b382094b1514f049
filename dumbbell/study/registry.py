"""The studies that are installed, found by the entry points of the group `dumbbell.studies` with which packages register them.

In the pyproject.toml of a package that has a study:

    [project.entry-points."dumbbell.studies"]
    NAME = "package:STUDY"

dumbbell registers its own in the same way. Entry points are read when a study is asked for, and a study is imported when it is used.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from dumbbell.comparing.format import Format
from dumbbell.errors import BadInput, EnvironmentFault, nearest
from dumbbell.study.model import Part, Study
from dumbbell.study.today import is_kernel

GROUP = "dumbbell.studies"
OURS = "dumbbell"
"""The package whose studies come with the tool."""
_PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
"""The file of a checkout; an installed package has none."""


def study_names(package: str | None = None) -> list[str]:
    """Names of all studies, those of dumbbell first, or of those that a package brings."""
    packages = {name: _package(point) for name, point in _registered().items()}
    return sorted((name for name in packages if package in (None, packages[name])), key=lambda name: (packages[name] != OURS, name))


def find_study(name: str) -> Study:
    """The study with this name. For an unknown name raises `BadInput`, which suggests the nearest one.

    Raises `EnvironmentFault` for a study whose package is not as it should be.
    """
    point = _registered().get(name)
    if point is None:
        raise BadInput(f"study {name!r} is unknown{nearest(name, study_names())}; expected one of {', '.join(study_names())}")
    return _loaded(point)


def find_part(name: str, part: str | None = None, engine: str = "") -> tuple[Study, Part]:
    """The study and its part, given as (`sce`, `one-flow`) or as `sce/one-flow`. Without a part, the first part of the study, or the one
    that it has for an engine."""
    if part is None and "/" in name:
        name, part = name.split("/", 1)
    study = find_study(name)
    if part is None and is_kernel(engine) and study.kernel_part:
        return study, study.parts[study.kernel_part]
    if part is None:
        return study, next(iter(study.parts.values()))
    if part not in study.parts:
        raise BadInput(f"part {part!r} of study {name} is unknown{nearest(part, study.parts)}; expected one of {', '.join(study.parts)}")
    return study, study.parts[part]


def formats(package: str | None = None) -> dict[str, tuple[Study, Part, Format]]:
    """All formats of reference files by name, or those of a package, each with the study and part that measure it."""
    found: dict[str, tuple[Study, Part, Format]] = {}
    for study in map(find_study, study_names(package)):
        for part in study.parts.values():
            for format_ in part.formats:
                if (other := found.get(format_.name, (study,))[0]) is not study:
                    both = f"{other.name} and {study.name}"
                    raise EnvironmentFault(f"the studies {both} both have a format {format_.name}; expected a name of its own for each")
                found[format_.name] = (study, part, format_)
    return found


@cache
def _registered() -> Mapping[str, EntryPoint]:
    """The entry points by name."""
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=GROUP):
        if point.name in found:
            both = f"{_package(found[point.name])} and {_package(point)}"
            raise EnvironmentFault(f"the study {point.name} is registered twice, by {both}; expected one of these packages to be removed")
        found[point.name] = point
    late = [name for name, value in _of_checkout().items() if name not in found or found[name].value != value]
    if late:
        are = "study is" if len(late) == 1 else "studies are"
        raise EnvironmentFault(
            f"the {are} not registered ({', '.join(late)}): what is installed is older than {_PROJECT.name}; expected `make setup` in "
            f"{_PROJECT.parent}"
        )
    return found


def _of_checkout() -> Mapping[str, str]:
    """Name and place of the studies in the pyproject.toml of a checkout; none where there is no checkout."""
    if not _PROJECT.is_file():
        return {}
    project = tomllib.loads(_PROJECT.read_text(encoding="utf-8")).get("project", {})
    found: Mapping[str, str] = project.get("entry-points", {}).get(GROUP, {}) if project.get("name") == OURS else {}
    return found


def _loaded(point: EntryPoint) -> Study:
    this = f"the study {point.name} of the package {_package(point)}"
    try:
        study = point.load()
    except Exception as error:
        if _package(point) == OURS:
            raise  # such as a library that is not installed
        raise EnvironmentFault(f"{this} cannot be imported ({type(error).__name__}: {error}); expected {point.value}") from error
    if not isinstance(study, Study):
        raise EnvironmentFault(f"{this}: {point.value} is no study; expected a dumbbell.study.Study")
    if study.name != point.name:
        raise EnvironmentFault(f"{this} calls itself {study.name}; expected the name that it is registered under")
    return study


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "unknown"
