"""The shape of run.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

from dumbbell.errors import BadInput
from dumbbell.results.conservation import NEEDED, Status


def checked(record: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """The record of a run as it was read from `path`. Raises `BadInput` if it lacks something or holds something else there."""
    for key, (expected, fits) in _SHAPE.items():
        if key not in record:
            raise BadInput(f"{path}: lacks {key!r}; expected a run written by dumbbell")
        if not fits(record[key]):
            raise BadInput(f"{path}: {key} is not {expected}; expected a run written by dumbbell")
    if not isinstance(record.get("plan"), dict | None):
        raise BadInput(f"{path}: plan is not a mapping; expected a run written by dumbbell")
    for entity, values in record["counters"].items():
        kind, slash, _ = entity.partition("/")
        if not slash or kind not in NEEDED or not isinstance(values, dict) or not all(map(_is_count, values.values())):
            raise BadInput(f"{path}: counters of {entity!r} are not whole numbers by name; expected a run written by dumbbell")
        if lacking := sorted(NEEDED[kind] - values.keys()):
            raise BadInput(f"{path}: counters of {entity!r} lack {', '.join(lacking)}; expected a run written by dumbbell")
    return record


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_mapping(value: object) -> bool:
    return isinstance(value, dict)


def _is_cell(value: object) -> bool:
    return isinstance(value, dict) and all(type(coordinate) in (str, int, float) for coordinate in value.values())


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


_SHAPE: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "series_bytes": ("a size", _is_count),
    "key": ("text", _is_text),
    "name": ("text", _is_text),
    "cell": ("coordinates by name", _is_cell),
    "scenario": ("a mapping", _is_mapping),
    "status": (f"one of {', '.join(get_args(Status))}", lambda value: value in get_args(Status)),
    "reasons": ("a list of text", _is_texts),
    "counters": ("a mapping", _is_mapping),
    "digest": ("text", _is_text),
    "engine": ("a mapping", _is_mapping),
}
