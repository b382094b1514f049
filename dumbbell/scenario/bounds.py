"""Bounds that several checks share."""

from __future__ import annotations

from collections.abc import Iterator

from dumbbell.scenario.problems import Location
from dumbbell.scenario.units import Duration, Rate

Wrong = Iterator[tuple[Location, str, str]]
"""Where, what is wrong, and what was expected."""

_LONGEST_DELAY = Duration.parse("1000s")
_FASTEST = Rate.parse("1000gbit")
SLOWEST_CAKE = Rate.parse("8bit")
"""Cake counts in bytes per second."""


def too_long(location: Location, time: Duration | None, most: Duration = _LONGEST_DELAY) -> Wrong:
    """A time above `most`; None is not said."""
    if time is not None and time > most:
        yield location, f"{time} is too long", f"at most {most}"


def too_fast(location: Location, rate: Rate | None) -> Wrong:
    """A rate that no line has; None is not said."""
    if rate is not None and rate > _FASTEST:
        yield location, f"{rate} is too fast", f"at most {_FASTEST}"
