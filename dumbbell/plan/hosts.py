"""Hosts: the two that all traffic shares, and those that flows name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dumbbell.documents.problems import Location
from dumbbell.plan.ids import Ids
from dumbbell.plan.model import Direction, Host, Side
from dumbbell.plan.ports import Stage
from dumbbell.plan.provenance import PORT, Origin
from dumbbell.scenario import HostQueue

_SIDES: tuple[Side, Side] = ("left", "right")
_SHARED = tuple(Host(side, side, number) for number, side in enumerate(_SIDES, 1))
"""Hosts of flows by default."""
_NOWHERE = Origin(())
_LEAVING: Mapping[Side, Direction] = {"left": "forward", "right": "reverse"}
"""Direction of the packets that leave a host of a side."""


class Hosts:
    """The hosts of a run: the two that flows have by default, then those with names in order of first use."""

    def __init__(self, written: Mapping[str, HostQueue]) -> None:
        """`written`: the queues that hosts have of their own, by the host's name."""
        self._ids = Ids(_SIDES)
        self._written = written
        self.hosts = [*_SHARED]
        self._names: list[str] = [*_SIDES]
        self.origins = [_NOWHERE, _NOWHERE]
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
            self._names.append(name)
        return index

    def egress(self, index: int) -> Stage | None:
        """The queue that everything of a host leaves through, if it has one."""
        name = self._names[index]
        if (written := self._written.get(name)) is None:
            return None
        host = self.hosts[index]
        origin = Origin(("hosts", name, "egress"), PORT)
        return Stage(f"{host.id}-egress", f"{name}-egress", _LEAVING[host.side], origin, 0, written.egress, on_host=True)

    def attach(self, index: int, port: int) -> None:
        """The host's queue has become a port."""
        self.hosts[index] = replace(self.hosts[index], egress=port)
        self.origins[index] = Origin(("hosts", self._names[index]))
