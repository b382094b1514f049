"""Content of a run, from which its key is made: all settings but the name."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self

from dumbbell.scenario.base import CONTENT
from dumbbell.scenario.model import Settings
from dumbbell.scenario.series import Series

_in_order = json.JSONEncoder(sort_keys=True).encode
_USUAL = Series()


@dataclass(frozen=True, slots=True)
class Content:
    """Settings in plain data, and the JSON of each key: the cells of a sweep share the keys that are equal."""

    data: dict[str, Any]
    """Not to be changed."""
    json: dict[str, str]
    """By key: the key and its value, with the keys in that in order."""
    text: str
    """The whole as JSON with sorted keys."""

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the content of settings."""
        return cls({}, {}, "").replaced(_plain(settings, set(Settings.model_fields)))

    def of_cell(self, settings: Settings, touched: Collection[str]) -> Content:
        """Return the content of settings that differ from those of this content only in the keys `touched`."""
        return self.replaced(_plain(settings, touched))

    def replaced(self, changed: Mapping[str, Any]) -> Self:
        """With other values of some keys."""
        texts = {**self.json, **{key: f'"{key}": {_in_order(value)}' for key, value in changed.items()}}
        return type(self)({**self.data, **changed}, texts, f"{{{', '.join([texts[key] for key in sorted(texts)])}}}")


def _plain(settings: Settings, keys: Collection[str]) -> dict[str, Any]:
    # A scenario that chooses no series and has one path keeps the key that it had before there was a choice.
    left_out = {"name"}
    if settings.series == _USUAL:
        left_out.add("series")
    left_out.update([key for key in ("stages", "paths", "events", "measure") if not getattr(settings, key)])
    return settings.model_dump(mode="json", include={*keys} - left_out, context=CONTENT)
