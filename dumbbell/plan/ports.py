"""Ports: the stages that paths are made of, with their limits counted in packets or bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from dumbbell.plan.model import Direction, Link, Parameters, PartOfRtt, Port, Queue
from dumbbell.plan.provenance import Origin
from dumbbell.plan.shapers import shaper
from dumbbell.scenario import Bottleneck, Limit
from dumbbell.scenario.discipline import PortFacts


class Stage(NamedTuple):
    """A port to be: its limits may still be relative to the RTT of the first path through it."""

    id: str
    name: str
    direction: Direction
    origin: Origin
    """Place in the scenario."""
    delay_ns: int
    queue: Bottleneck | None = None
    """None: it only delays."""
    rate_bps: int | None = None
    """Link rate of a delay."""
    limit: Limit | None = None
    """Limit of a delay."""
    coalesce_ns: int | None = None
    """Coalescing time of a network card."""
    opposite: str | None = None
    """The id of the stage of the other direction that mirrors this one or replaces its mirror."""
    own_rtt: PartOfRtt | None = None
    """For a delay: the part that it adds of the RTT that a connection has of its own."""
    faults: Parameters | None = None
    """For a delay: its faults, all that it does to packets besides delaying them."""
    on_host: bool = False
    """It is a host's own queue: impairments of the path do not concern it."""


@dataclass
class Ports:
    """The ports of a run, in order of first use."""

    frame_bytes: int
    """The largest frame."""
    duration_ns: int
    """Duration of the run."""
    stages: list[Stage] = field(default_factory=list)
    ports: list[Port] = field(default_factory=list)
    _indices: dict[str, int] = field(default_factory=dict)

    def index(self, stage: Stage, rate_bps: int, base_rtt_ns: int) -> int:
        """Return the port of a stage on a path with this rate and RTT; stages of one id are one port, whatever paths they are on."""
        if (index := self._indices.get(stage.id)) is None:
            index = self._indices[stage.id] = len(self.ports)
            self.stages.append(stage)
            self.ports.append(self._port(stage, rate_bps, base_rtt_ns))
        return index

    def _port(self, stage: Stage, path_rate_bps: int, base_rtt_ns: int) -> Port:
        if stage.queue is None:
            limit = None if stage.limit is None else stage.limit.packets(stage.rate_bps or path_rate_bps, base_rtt_ns, self.frame_bytes)
            more = limit, stage.coalesce_ns, stage.faults, stage.own_rtt
            return Link(stage.id, stage.name, stage.direction, stage.delay_ns, stage.rate_bps, *more)
        rate_bps = stage.queue.rate_bps
        assert rate_bps is not None  # checked by the scenario
        pacing = shaper(stage.queue, rate_bps, self.frame_bytes, self.duration_ns)
        facts = PortFacts(rate_bps, base_rtt_ns, shaped_here=pacing["kind"] == "own", frame_bytes=self.frame_bytes)
        return Queue(stage.id, stage.name, stage.direction, stage.queue.qdisc.planned(facts), pacing, stage.delay_ns)

    def position(self, stage_id: str) -> int:
        """The port of a stage that is on some path."""
        return self._indices[stage_id]

    def opposite(self, index: int) -> int:
        """The port of the other direction that mirrors a port or replaces its mirror."""
        opposite = self.stages[index].opposite
        assert opposite is not None  # checked by the scenario
        return self._indices[opposite]
