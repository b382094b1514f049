"""Parameters of congestion controls: what an engine's table says of them, and what a scenario may give for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dumbbell.scenario import one_of

_WORDS = {"on": True, "off": False}
"""How scenario files write flags; YAML 1.2 has no such words, so that they arrive as text."""


@dataclass(frozen=True)
class Parameter:
    """One parameter."""

    name: str
    kind: Literal["flag", "integer", "number", "word"]
    default: Any
    range: tuple[Any, ...] = ()
    """Of an integer or a number the least and the most; of a word all that there are; empty: any."""
    meaning: str = ""

    @classmethod
    def from_table(cls, entry: Mapping[str, Any]) -> Parameter:
        """From `{"name", "kind", "default", "range", "meaning"}`; without a range every value of the kind will do."""
        return cls(entry["name"], entry["kind"], entry["default"], tuple(entry.get("range") or ()), entry.get("meaning", ""))

    @property
    def expected(self) -> str:
        """The values that it may have, in words."""
        if self.kind == "flag":
            return "on or off"
        if self.kind == "word":
            return one_of(map(str, self.range))
        noun = "a whole number" if self.kind == "integer" else "a number"
        return f"{noun} from {self.range[0]} to {self.range[1]}" if self.range else noun

    def read(self, written: Any) -> Any:
        """The value that is meant; what is no value of this parameter is returned as it is, and `fits` says so."""
        if self.kind == "flag" and isinstance(written, str):
            return _WORDS.get(written, written)
        return written

    def fits(self, value: Any) -> bool:
        """Whether it may have that value."""
        if self.kind == "flag":
            return isinstance(value, bool)
        if self.kind == "word":
            return value in self.range
        numeric = isinstance(value, int if self.kind == "integer" else int | float) and not isinstance(value, bool)
        return numeric and (not self.range or self.range[0] <= value <= self.range[1])


def shown(value: Any) -> str:
    """A value as a scenario file has it."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
