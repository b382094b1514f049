"""The available studies and their parts."""

from __future__ import annotations

from importlib import import_module

from dumbbell.comparing.format import Format
from dumbbell.errors import BadInput, nearest
from dumbbell.studies.study import Part, Study

_MODULES = {name: f"dumbbell.studies.{name}" for name in ("sce", "oracle", "teacup", "ordering", "fairness")}


def study_names() -> list[str]:
    """Names of all studies."""
    return list(_MODULES)


def find_study(name: str) -> Study:
    """The study with this name. For an unknown name raises `BadInput`, which suggests the nearest one."""
    if name not in _MODULES:
        raise BadInput(f"study {name!r} is unknown{nearest(name, study_names())}; expected one of {', '.join(_MODULES)}")
    study = import_module(_MODULES[name]).STUDY
    assert isinstance(study, Study)
    return study


def find_part(name: str, part: str | None = None) -> tuple[Study, Part]:
    """The study and its part, given as (`sce`, `one-flow`) or as `sce/one-flow`. Without a part, the first part of the study."""
    if part is None and "/" in name:
        name, part = name.split("/", 1)
    study = find_study(name)
    if part is None:
        return study, next(iter(study.parts.values()))
    if part not in study.parts:
        raise BadInput(f"part {part!r} of study {name} is unknown{nearest(part, study.parts)}; expected one of {', '.join(study.parts)}")
    return study, study.parts[part]


def formats() -> dict[str, tuple[Study, Part, Format]]:
    """All formats of reference files by name, each with the study and part that measure it."""
    return {
        format_.name: (study, part, format_)
        for study in map(find_study, study_names())
        for part in study.parts.values()
        for format_ in part.formats
    }
