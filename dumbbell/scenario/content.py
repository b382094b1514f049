"""Content of a run: all settings but the name.

A run's key is made from the settings that differ from their defaults, so that a setting which dumbbell learns changes the keys of no other
runs. The values of the defaults are in the engine's text of the plan, which is part of the key, too.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.scenario.base import CONTENT
from dumbbell.scenario.model import Settings
from dumbbell.scenario.series import Series

_in_order = json.JSONEncoder(sort_keys=True).encode
_USUAL = Series()


@dataclass(frozen=True, slots=True)
class Content:
    """Settings in plain data, and the JSON of what differs from the defaults: the cells of a sweep share the keys that are equal."""

    data: dict[str, Any]
    """Not to be changed."""
    json: dict[str, str]
    """By key: the key and its value without defaults, with the keys in that in order. Keys whose value is the default are left out."""
    text: str
    """That as JSON with sorted keys."""

    @classmethod
    def of(cls, settings: Settings) -> Content:
        """Return the content of settings."""
        return cls({}, {}, "").of_cell(settings, set(Settings.model_fields))

    def of_cell(self, settings: Settings, touched: Collection[str]) -> Content:
        """Return the content of settings that differ from those of this content only in the keys `touched`."""
        data = _plain(settings, touched)
        return self._with(touched, data, _of_kinds(_plain(settings, touched, exclude_defaults=True), data))

    def replaced(self, changed: Mapping[str, Any]) -> Content:
        """With other values of some keys, which are plain."""
        return self._with(changed, changed, {key: value for key, value in changed.items() if value != Settings.model_fields[key].default})

    def _with(self, keys: Collection[str], changed: Mapping[str, Any], own: Mapping[str, Any]) -> Content:
        """With other values of some keys, which a run may be without; `own` has them without defaults."""
        data = {key: value for key, value in self.data.items() if key not in keys}
        kept = {key: text for key, text in self.json.items() if key not in keys}
        texts = {**kept, **{key: f'"{key}": {_in_order(value)}' for key, value in own.items()}}
        return type(self)({**data, **changed}, texts, f"{{{', '.join([texts[key] for key in sorted(texts)])}}}")


def _plain(settings: Settings, keys: Collection[str], exclude_defaults: bool = False) -> dict[str, Any]:
    # A scenario that chooses no series and has one path keeps the key that it had before there was a choice.
    left_out = {"name"}
    if settings.series == _USUAL:
        left_out.add("series")
    left_out.update([key for key in ("stages", "paths", "events", "measure", "programs", "clock", "modules") if not getattr(settings, key)])
    return settings.model_dump(mode="json", include={*keys} - left_out, exclude_defaults=exclude_defaults, context=CONTENT)


def _of_kinds(own: Any, data: Any) -> Any:
    """Return `own`, which lacks defaults, with the kinds that `data` has: the kind of a queue discipline is a default of its model."""
    if isinstance(own, dict):
        kind = {"kind": data["kind"]} if "kind" in data else {}
        return {**{key: _of_kinds(value, data[key]) for key, value in own.items()}, **kind}
    return [_of_kinds(one, each) for one, each in zip(own, data, strict=True)] if isinstance(own, list) else own
