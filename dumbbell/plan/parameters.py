"""Parameters as the catalogue has them: what they may be in words, and the values of those of congestion controls in a plan."""

from __future__ import annotations

from typing import Any

from dumbbell.catalogue import Parameter
from dumbbell.errors import one_of
from dumbbell.scenario.bounds import written

_NOUNS = {
    "integer": "a whole number",
    "duration": "a time",
    "seconds": "a time of whole seconds",
    "rate": "a rate",
    "size": "a size",
    "packets": "a number of packets",
    "limit-packets": "packets or bdp",
    "limit-bytes": "a size or bdp",
    "probability": "a number",
    "text": "text",
}
_FLAGS = {"on": True, "off": False}
"""Words that scenario files may use for flags: in YAML 1.2 they are text."""


def expected(parameter: Parameter) -> str:
    """The values that a parameter may have, in words."""
    if parameter.kind == "flag":
        return "on or off"
    if parameter.kind == "choice":
        return one_of(parameter.words)
    bounds = (("from", parameter.least), ("to", parameter.most))
    return " ".join((_NOUNS[parameter.kind], *(f"{word} {written(parameter, bound)}" for word, bound in bounds if bound is not None)))


def default(parameter: Parameter) -> Any:
    """The default, of a quantity as a scenario file has it; None if there is none, or if a rule has it."""
    if parameter.frames:
        return "one frame" if parameter.frames == 1 else f"{parameter.frames} frames"
    return parameter.default if parameter.kind in ("flag", "integer", "choice") else parameter.written or None


def read(parameter: Parameter, given: Any) -> Any:
    """The value in a plan. One that is not valid is returned unchanged; `takes` tells."""
    return _FLAGS.get(given, given) if parameter.kind == "flag" and isinstance(given, str) else given


def takes(parameter: Parameter, value: Any) -> bool:
    """True if a parameter may have that value."""
    if parameter.kind == "flag":
        return isinstance(value, bool)
    if parameter.kind == "choice":
        return value in parameter.words
    return isinstance(value, int) and not isinstance(value, bool) and parameter.least <= value <= parameter.most  # type: ignore[operator]


def shown(value: Any) -> str:
    """A value as a scenario file has it."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
