"""The files that a scenario names: a run depends on their content, and a stored run remembers where they were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell.engines.prepared import Prepared
from dumbbell.results.storage.written import FILES


def places(job: Prepared) -> Mapping[str, Any]:
    """For host.json: where the files of the scenario are, if it names any."""
    found = job.resolved.settings.places
    return {FILES: found} if found else {}


def with_places(written: Any, known: Mapping[str, Mapping[str, str]]) -> Any:
    """Return a stored scenario whose files have their paths again. `known` has these by SHA-256, with the key that names each file."""
    if isinstance(written, list):
        return [with_places(each, known) for each in written]
    if not isinstance(written, dict):
        return written
    return {**{key: with_places(value, known) for key, value in written.items()}, **known.get(str(written.get("sha256")), {})}
