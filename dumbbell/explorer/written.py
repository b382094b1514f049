"""A scenario as a user would write it: without what is as it is by default."""

from __future__ import annotations

from typing import Any

from dumbbell.errors import BadInput
from dumbbell.explorer.collection import Document


def as_written(scenario: Document) -> Document:
    """Return the keys of a resolved scenario that have to be written, so that reading them gives the same scenario again. A scenario that
    this version does not read, as one of an imported run, stays as it is."""
    from dumbbell.scenario import Scenario

    try:
        read = Scenario(**scenario)
        found: Document = _kept(read.model_dump(mode="json"), read.model_dump(mode="json", exclude_defaults=True))
        return found if Scenario(**found) == read else scenario
    except (BadInput, TypeError, ValueError):
        return scenario


def _kept(whole: Any, changed: Any) -> Any:
    """The parts of plain data that were changed; a mapping keeps its kind, which says what its other keys mean."""
    if isinstance(whole, dict) and isinstance(changed, dict):
        keys = sorted((key for key in whole if key in changed or key == "kind"), key=lambda key: key != "kind")
        return {key: _kept(whole[key], changed.get(key, whole[key])) for key in keys}
    if isinstance(whole, list) and isinstance(changed, list) and len(whole) == len(changed):
        return [_kept(*pair) for pair in zip(whole, changed, strict=True)]
    return changed
