"""The axes of a figure that a user sets: logarithmic ones, and their limits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell.comparing.across.questions import DISTRIBUTIONS, Settled
from dumbbell.drawing.layout import Way
from dumbbell.errors import BadInput

WAYS: tuple[Way, ...] = ("x", "y")
Limits = tuple[float | None, float | None]


@dataclass(frozen=True)
class Scales:
    """Axes that a user sets."""

    log: frozenset[Way] = frozenset()
    """The logarithmic axes."""
    limits: Mapping[Way, Limits] | None = None
    """The ends of axes; None for an end that the data determine."""

    @property
    def words(self) -> str:
        """Return what the name of a file says of them."""
        found = "".join(f"-log-{way}" for way in WAYS if way in self.log)
        for way in WAYS:
            if way in (self.limits or {}):
                found += f"-{way}lim" + "".join("-" if end is None else f"-{end:g}" for end in (self.limits or {})[way])
        return found

    def ends(self, way: Way, low: float, high: float) -> tuple[float, float]:
        """The ends of an axis: those that are set, in place of these."""
        first, last = (self.limits or {}).get(way, (None, None))
        return low if first is None else first, high if last is None else last


PLAIN = Scales()
"""No axis is set."""


def checked(scales: Scales, settled: Settled) -> Scales:
    """Return the scales. Raises `BadInput` for one that the figure has no axis for."""
    manner = settled.manner
    words = settled.kind == "box" or (settled.kind == "lines" and not settled.over_time and settled.of_points)
    for way in WAYS:
        limits = (scales.limits or {}).get(way)
        options = [manner.offered("log", way)] if way in scales.log else []
        options += [manner.name(f"{way}lim")] if limits is not None else []
        if not options:
            continue
        if settled.kind == "heat" or (way == "x" and words):
            what = "a heat map" if settled.kind == "heat" else f"{settled.x or 'the axis'} has words"
            raise BadInput(f"{options[0]} was given, and {what} has no axis of numbers; expected another figure, or no {options[0]}")
        of_values = way == ("x" if settled.kind in DISTRIBUTIONS else "y")
        if limits is not None and of_values and len(settled.y) > 1:
            raise BadInput(f"{manner.name(f'{way}lim')} was given with {len(settled.y)} columns; expected one column")
        low, high = limits or (None, None)
        if way in scales.log and any(end is not None and end <= 0 for end in (low, high)):
            raise BadInput(f"{manner.name(f'{way}lim')} is not above 0 on a logarithmic axis; expected positive ends")
        if low is not None and high is not None and not low < high:
            raise BadInput(f"{manner.name(f'{way}lim')} ends at {high:g}, which is not above {low:g}; expected a smaller number first")
    return scales


def logarithmic(option: str, given: Sequence[str]) -> frozenset[Way]:
    """The axes that are to be logarithmic. Raises `BadInput` for a word that is no axis."""
    for each in given:
        if each not in WAYS:
            raise BadInput(f"{option} {each!r} is no axis; expected x or y")
    return frozenset(way for way in WAYS if way in given)


def limits_of(option: str, text: str) -> Limits:
    """The limits `LOW,HIGH`, of which one may be missing. Raises `BadInput` for a text that has none."""
    parts = text.split(",")
    try:
        ends: Any = [float(part) if part.strip() else None for part in parts]
    except ValueError:
        ends = []
    if len(ends) != 2 or ends == [None, None] or not all(end is None or math.isfinite(end) for end in ends):
        raise BadInput(f"{option} {text!r}: expected LOW,HIGH, or one of them: 0,100 or ,100")
    return ends[0], ends[1]
