"""Times of events: starts of flows, and changes of the network."""

from __future__ import annotations

import hashlib

from dumbbell.plan.changes import Change, Drop, Hold, Outage, RateChange
from dumbbell.plan.model import Direction
from dumbbell.plan.paths import Paths
from dumbbell.plan.provenance import Origin
from dumbbell.scenario import Drop as WrittenDrop
from dumbbell.scenario import Hold as WrittenHold
from dumbbell.scenario import Impairment, Settings, Start
from dumbbell.scenario import Outage as WrittenOutage

_BOTH: tuple[Direction, Direction] = ("forward", "reverse")


def start_ns(start: Start, position: int, seed: int, name: str) -> int:
    """Return when a flow starts that is the `position`th of its group, from 0.

    The jitter is uniform from 0 to the written value, both included. Each flow has a stream of its own, so that another flow does not shift
    it; it is the same on every engine.
    """
    begin = int(start.first) + position * int(start.every)
    if not start.jitter:
        return begin
    drawn = int.from_bytes(hashlib.sha256(f"{seed}/flow/{name}/start".encode()).digest()[:16], "big")
    return begin + drawn % (int(start.jitter) + 1)


def changes(settings: Settings, paths: Paths) -> tuple[list[Change], list[Origin]]:
    """The changes of ports and where each is set: as the scenario lists them, ports of the data's direction first; then those of traces."""
    found: list[Change] = []
    origins = []
    for i, impairment in enumerate(settings.path.impairments):
        directions = _BOTH if impairment.direction == "both" else (impairment.direction,)
        ports = [paths.queue(impairment.stage, direction) for direction in directions]
        found += [_change(impairment, port) for port in ports]
        origins += [Origin(("path", "impairments", i))] * len(ports)
    for port, stage in enumerate(paths.ports.stages):
        if stage.queue is not None and stage.queue.trace is not None:
            # The first rate is that of the shaper from the start on.
            steps = [RateChange(port, *step) for step in stage.queue.trace.steps(int(settings.duration))][1:]
            found += steps
            origins += [Origin((*stage.origin.location, "trace"))] * len(steps)
    return found, origins


def _change(impairment: Impairment, port: int) -> Change:
    if isinstance(impairment, WrittenOutage):
        return Outage(port, int(impairment.at), int(impairment.for_))
    if isinstance(impairment, WrittenDrop):
        return Drop(port, int(impairment.at), int(impairment.packets), impairment.every)
    if isinstance(impairment, WrittenHold):
        packets = None if impairment.packets is None else int(impairment.packets)
        return Hold(port, int(impairment.at), int(impairment.for_), packets)
    return RateChange(port, int(impairment.at), int(impairment.rate))
