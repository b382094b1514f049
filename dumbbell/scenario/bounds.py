"""Bounds that several checks share."""

from __future__ import annotations

from collections.abc import Iterator

from dumbbell.documents.problems import Location
from dumbbell.scenario.units import Duration, Rate

Wrong = Iterator[tuple[Location, str, str]]
"""Location, what is wrong, and what was expected."""

_LONGEST_DELAY = Duration.parse("1000s")
_LONGEST_TICK = Duration.parse("1s")
_FASTEST = Rate.parse("1000gbit")
SLOWEST_CAKE = Rate.parse("8bit")
"""Cake counts in bytes per second."""


def too_long(location: Location, time: Duration | None, most: Duration = _LONGEST_DELAY) -> Wrong:
    """A time above `most`; None is not said."""
    if time is not None and time > most:
        yield location, f"{time} is too long", f"at most {most}"


def no_tick(location: Location, tick: Duration | None) -> Wrong:
    """A time between ticks that no kernel's clock has; None is not said."""
    if tick is not None and not 0 < tick <= _LONGEST_TICK:
        yield location, f"{tick} is no tick of a clock", f"above 0s, at most {_LONGEST_TICK}"


def too_fast(location: Location, rate: Rate | None) -> Wrong:
    """A rate that no line has; None is not said."""
    if rate is not None and rate > _FASTEST:
        yield location, f"{rate} is too fast", f"at most {_FASTEST}"
