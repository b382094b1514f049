"""Bounds that several checks share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from dumbbell.catalogue import Parameter, entries
from dumbbell.documents.model import Model
from dumbbell.documents.problems import Location
from dumbbell.scenario.base import parameters
from dumbbell.scenario.units import Duration, Limit, Packets, Quantity, Rate, Size

Wrong = Iterator[tuple[Location, str, str]]
"""Location, what is wrong, and what was expected."""

_STAGE = {each.name: each.most or 0 for each in entries("path")["delay_stage"].parameters}
_LONGEST_DELAY = Duration(_STAGE["delay"])
_FASTEST = Rate(_STAGE["rate"])
SLOWEST_CAKE = Rate(next(each.least or 0 for each in entries("qdisc")["cake"].parameters if each.name == "rate"))
"""Cake counts in bytes per second."""

_QUANTITIES: Mapping[str, tuple[type[Quantity], str, str]] = {
    "duration": (Duration, "is too short", "is too long"),
    "seconds": (Duration, "is too short", "is too long"),
    "rate": (Rate, "is too slow", "is too fast"),
    "size": (Size, "is too little", "is too much"),
    "packets": (Packets, "is too little", "is too much"),
    "limit-packets": (Packets, "is too little", "is too much"),
    "limit-bytes": (Size, "is too little", "is too much"),
    "drawn-duration": (Duration, "is too short", "is too long"),
    "drawn-size": (Size, "is too little", "is too much"),
}
"""Kinds of parameters whose bounds no type has: the quantity, and what is wrong below and above."""
_LIMITS = {"limit-packets": "p", "limit-bytes": "B"}
_FACTORS = {"seconds": 10**9}


def written(parameter: Parameter, number: int) -> str:
    """A value of a parameter as a scenario has it, from the units that the catalogue has bounds and defaults in."""
    if parameter.kind == "probability":
        return format(Decimal(number).scaleb(-6).normalize(), "f")
    if parameter.kind not in _QUANTITIES:
        return str(number)
    if number < 0:
        return f"{number}{_QUANTITIES[parameter.kind][0].FORMAT[-1]}"
    return str(_QUANTITIES[parameter.kind][0](number * _FACTORS.get(parameter.kind, 1)))


def beyond(location: Location, parameter: Parameter, value: Any) -> Wrong:
    """A quantity out of the bounds that the catalogue has. A limit in `bdp` has a size only in the plan, where the engine
    checks it, and a distribution has bounds of its own."""
    if not isinstance(value, Quantity | Limit) or parameter.kind not in _QUANTITIES:
        return
    kind, below, above = _QUANTITIES[parameter.kind]
    if isinstance(value, Limit):
        if value.unit != _LIMITS[parameter.kind]:
            return
        value = kind(value.value)
    factor = _FACTORS.get(parameter.kind, 1)
    text = "0B" if isinstance(value, Size) and not value else str(value)
    if parameter.least is not None and value < parameter.least * factor:
        yield location, f"{text} {below}", f"at least {written(parameter, parameter.least)}"
    elif parameter.most is not None and value > parameter.most * factor:
        yield location, f"{text} {above}", f"at most {written(parameter, parameter.most)}"


def all_beyond(location: Location, written: Model, *left_out: str) -> Wrong:
    """Every quantity of a model that is out of the bounds that the catalogue has, but for some keys."""
    for name, parameter in parameters(type(written)).items():
        if name not in left_out and (parameter.least is not None or parameter.most is not None):
            yield from beyond((*location, name), parameter, getattr(written, name, None))


def too_long(location: Location, time: Duration | None, most: Duration = _LONGEST_DELAY) -> Wrong:
    """A time above `most`; None is not said."""
    if time is not None and time > most:
        yield location, f"{time} is too long", f"at most {most}"


def too_fast(location: Location, rate: Rate | None) -> Wrong:
    """A rate that no line has; None is not said."""
    if rate is not None and rate > _FASTEST:
        yield location, f"{rate} is too fast", f"at most {_FASTEST}"
