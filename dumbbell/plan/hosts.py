"""Hosts: the two that all traffic shares, and those that flows name."""

from __future__ import annotations

from dumbbell.plan.ids import Ids
from dumbbell.plan.model import Host, Side
from dumbbell.plan.provenance import Origin
from dumbbell.scenario.problems import Location

_SIDES: tuple[Side, Side] = ("left", "right")


class Hosts:
    """The hosts of a run: the two that flows have by default, then those with names in order of first use."""

    def __init__(self) -> None:
        self._ids = Ids()
        self.hosts = [Host(self._ids.take(side), side, number) for number, side in enumerate(_SIDES, 1)]
        self.origins = [Origin(()) for _ in _SIDES]
        self._indices: dict[tuple[str | None, Side], int] = {(None, side): i for i, side in enumerate(_SIDES)}
        self._numbers: dict[str, int] = {}

    def index(self, name: str | None, side: Side, location: Location = ()) -> int:
        """The host of that name on a side; `location` is where it is named."""
        if (index := self._indices.get((name, side))) is None:
            assert name is not None  # the others are there from the start
            number = self._numbers.setdefault(name, len(_SIDES) + 1 + len(self._numbers))
            index = self._indices[name, side] = len(self.hosts)
            self.hosts.append(Host(self._ids.take(name, f"{name}-{side}"), side, number))
            self.origins.append(Origin(location))
        return index
