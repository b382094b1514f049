"""Parameters of congestion controls: their entries in an engine's table, and their values in a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dumbbell.errors import one_of

_FLAGS = {"on": True, "off": False}
"""Words that scenario files may use for flags: in YAML 1.2 they are text."""


@dataclass(frozen=True)
class Parameter:
    """One parameter."""

    kind: Literal["flag", "integer", "choice"]
    default: Any
    """Its value if neither the scenario nor the stack sets it."""
    meaning: str = ""
    least: int = 0
    """Minimum of an integer; `most` is its maximum."""
    most: int = 0
    words: tuple[str, ...] = ()
    """Words of a choice."""

    @classmethod
    def from_table(cls, entry: Mapping[str, Any]) -> Parameter:
        """From `{kind, default, meaning}`, with `least` and `most` of an integer and the `words` of a choice."""
        return cls(**{**entry, "words": tuple(entry.get("words", ()))})

    @property
    def expected(self) -> str:
        """The values that it may have, in words."""
        if self.kind == "flag":
            return "on or off"
        return one_of(self.words) if self.kind == "choice" else f"a whole number from {self.least} to {self.most}"

    def read(self, written: Any) -> Any:
        """The value in a plan. One that is not valid is returned unchanged; `takes` tells."""
        return _FLAGS.get(written, written) if self.kind == "flag" and isinstance(written, str) else written

    def takes(self, value: Any) -> bool:
        """True if it may have that value."""
        if self.kind == "flag":
            return isinstance(value, bool)
        if self.kind == "choice":
            return value in self.words
        return isinstance(value, int) and not isinstance(value, bool) and self.least <= value <= self.most


def shown(value: Any) -> str:
    """A value as a scenario file has it."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
