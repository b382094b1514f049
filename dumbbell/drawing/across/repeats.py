"""Number of runs behind each thing that is drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from dumbbell.comparing.across.estimates import Estimate
from dumbbell.comparing.across.observations import Observation
from dumbbell.comparing.across.questions import Settled


def members(settled: Settled) -> Iterator[Sequence[Observation]]:
    """The observations behind each point, box, line or cell."""
    keys = [key for key in (settled.panels, *settled.by) if key]
    if settled.kind in ("lines", "box", "heat") and settled.x and not settled.over_time:
        keys.append(settled.x)
    for y, found in settled.data.items():
        parts: dict[tuple[Any, ...], list[Observation]] = {}
        for each in found:
            if each.series is not None or not math.isnan(each.values.get(y, math.nan)):
                parts.setdefault(tuple(each.at.get(key, "") for key in keys), []).append(each)
        yield from parts.values()


def repeats(settled: Settled) -> list[Estimate]:
    """Return for each thing its number of runs, as an estimate without a value."""
    return [Estimate(math.nan, math.nan, math.nan, len({each.run for each in found})) for found in members(settled)]
