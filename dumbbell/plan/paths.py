"""Paths: from `rtt`, `delay`, `access`, `bottleneck` to ports in order, in each direction.

| `delay.where` | forward | reverse |
|---|---|---|
| `before` | access link, rtt/2 + extra, bottleneck | rtt/2 + extra, bottleneck-reverse |
| `after` | access link, bottleneck, rtt/2 + extra | bottleneck-reverse, rtt/2 + extra |
| `ack-path` | access link, bottleneck, extra | rtt + extra, bottleneck-reverse |

A host's own queue comes first in either direction. A delay of 0 is no stage, unless the direction would have none. A delay behind a
bottleneck is that stage's own propagation delay, and the access link is the link of the delay stage that follows it. They become stages of
their own if flows differ in RTT or the delay has a limit. Stages of one id are one port, whatever flows pass through it.

A path by name, one of several, consists of stages of the scenario's `stages`: each is at most one port in either direction, whatever paths
pass it, with the stage's name for an id. Sizes in `bdp` are those of the first path through it that traffic takes.

The ids are those of this table. Explicit stages have their given names, or `delay-N` and `queue-N`. On the reverse path `-reverse` is
added. If that makes a string that another stage has already, it gets a number. No code takes an id apart again.
"""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.plan.hosts import Hosts
from dumbbell.plan.ids import Ids
from dumbbell.plan.model import Direction, PartOfRtt, Path
from dumbbell.plan.ports import Ports, Stage
from dumbbell.plan.provenance import DELAY, PORT, Origin
from dumbbell.scenario import Bottleneck, Duration, NamedPath, QueueStage, Settings, over_tcp
from dumbbell.scenario import Path as Written
from dumbbell.scenario import Stage as WrittenStage
from dumbbell.scenario.passing import least_rate_bps, path_named

_DELAY, _ACCESS, _BOTTLENECK = Origin(("path",), DELAY), Origin(("path", "access")), Origin(("path", "bottleneck"), PORT)


class Paths:
    """The paths of a run, in order of first use."""

    def __init__(self, settings: Settings, hosts: Hosts) -> None:
        """The settings must have passed `check`."""
        self._hosts = hosts
        self.ports = Ports(settings.path.frame_bytes, int(settings.duration))
        self.paths: list[Path] = []
        self._settings = settings
        self._written = settings.path
        usual = {settings.path.rtt}
        has_faults = settings.path.delay.planned_faults() is not None
        self._separate = (
            has_faults
            or settings.path.delay.limit is not None
            or any(each.has_own_rtts or not usual.issuperset(each.rtts) for each in over_tcp(settings))
        )
        self._indices: dict[tuple[str | None, Duration | None, bool, int | None, int | None, Duration | None], int] = {}
        self._ids = Ids()

    def of(
        self,
        left: int,
        right: int,
        name: str | None = None,
        rtt: Duration | None = None,
        own: bool = False,
        gro: Duration | None = None,
    ) -> int:
        """The index of the path between two hosts for traffic that takes this one of several.

        `rtt` is the RTT that traffic has instead of the path's; `own`: each connection has one. `gro` is how long interrupts of hosts that
        receive wait.
        """
        rtt = self._written.rtt if rtt is None else rtt
        first, last = self._with_queue(left), self._with_queue(right)
        if (index := self._indices.get((name, rtt, own, first, last, gro))) is None:
            index = self._indices[name, rtt, own, first, last, gro] = self._add(name, rtt, own, first, last, gro)
        return index

    def queue(self, name: str | None, direction: Direction) -> int:
        """The queue of this name that packets of a direction pass; without a name the bottleneck of the scenario's `path`, or its only
        queue."""
        if name in self._settings.stages:
            return self.ports.position(name if direction == "forward" else f"{name}-reverse")
        forward = next(
            i
            for i, stage in enumerate(self.ports.stages)
            if stage.queue is not None and stage.direction == "forward" and stage.origin.location[0] == "path" and name in (None, stage.id)
        )
        return forward if direction == "forward" else self.ports.opposite(forward)

    def _add(self, name: str | None, rtt: Duration | None, own: bool, left: int | None, right: int | None, gro: Duration | None) -> int:
        """`left`, `right`: the hosts that have queues of their own; `gro`: how long interrupts of those that receive wait."""
        written = path_named(self._settings, name)
        if isinstance(written, NamedPath):
            forward, reverse = (self._named(written.passed(direction), direction) for direction in _DIRECTIONS)
            path_id = name or next(iter(self._settings.paths))
        elif written.forward is None:
            assert rtt is not None  # checked by the scenario
            forward, reverse = _own(written) if own else _dumbbell(written, rtt, self._separate)
            path_id = "path-own" if own else "path" if rtt == written.rtt else f"path-{rtt}"
        else:
            forward, reverse = _explicit(written, written.forward)
            path_id = "path"
        dumbbell = isinstance(written, Written) and written.forward is None
        base_rtt_ns = int(rtt) if dumbbell and rtt is not None else sum(stage.delay_ns for stage in (*forward, *reverse))
        rate_bps = least_rate_bps(self._settings, name)
        if gro is not None:
            forward, reverse = [*forward, _card(gro, "forward")], [*reverse, _card(gro, "reverse")]
        forward, reverse = [*self._egress(left), *forward], [*self._egress(right), *reverse]
        there = tuple([self.ports.index(stage, rate_bps, base_rtt_ns) for stage in forward])
        back = tuple([self.ports.index(stage, rate_bps, base_rtt_ns) for stage in reverse])
        for host, ports in ((left, there), (right, back)):
            if host is not None:
                self._hosts.attach(host, ports[0])
        self.paths.append(Path(self._ids.take(path_id), there, back, base_rtt_ns, rate_bps))
        return len(self.paths) - 1

    def _named(self, names: Sequence[str], direction: Direction) -> list[Stage]:
        """Return the named ones of the scenario's `stages`. A direction without stages gets one that does nothing."""
        stages = []
        for name in names:
            ids = (name, f"{name}-reverse")
            own, opposite = ids if direction == "forward" else ids[::-1]
            stages.append(_stage(self._settings.stages[name], own, name, direction, ("stages", name), opposite))
        return stages or [Stage(f"none-{direction}", "none", direction, Origin(("paths",)), 0)]

    def _with_queue(self, host: int) -> int | None:
        """The host, if it has a queue of its own."""
        return host if self._settings.hosts and self._hosts.egress(host) else None

    def _egress(self, host: int | None) -> list[Stage]:
        """A host's own queue, if it has one."""
        stage = None if host is None else self._hosts.egress(host)
        return [] if stage is None else [stage]


_DIRECTIONS: tuple[Direction, Direction] = ("forward", "reverse")


def _card(gro: Duration, direction: Direction) -> Stage:
    """The network card of the host at the end of a direction; all flows with interrupts of one time share it."""
    name = f"card-{gro}"
    return Stage(name if direction == "forward" else f"{name}-reverse", name, direction, Origin(("flows",)), 0, coalesce_ns=int(gro))


def _dumbbell(path: Written, rtt: Duration, separate: bool) -> tuple[list[Stage], list[Stage]]:
    """The stages of flows of one RTT; `separate`: delays are stages of their own."""
    assert path.bottleneck is not None  # checked by the scenario
    where, extra = path.delay.where, int(path.delay.extra)
    name = "delay" if rtt == path.rtt else f"delay-{rtt}"
    ahead, back = (0, int(rtt)) if where == "ack-path" else (int(rtt) // 2, int(rtt) - int(rtt) // 2)

    faults = path.delay.planned_faults()

    def delay(direction: Direction, ns: int, line: int | None = None) -> list[Stage]:
        if ns == 0 and line is None and (faults is None or path.delay.faults_in not in (direction, "both")):
            return []
        ids = (name, f"{name}-reverse")
        stage_id, opposite = ids if direction == "forward" else ids[::-1]
        own = faults if path.delay.faults_in in (direction, "both") else None
        limit = path.delay.limit if ns else None
        return [Stage(stage_id, name, direction, _DELAY, ns, rate_bps=line, limit=limit, opposite=opposite, faults=own)]

    line = int(path.access.rate) if path.access else None
    behind = where != "before"
    forward: list[Stage] = []
    if (behind or separate) and line is not None:
        forward.append(Stage("access", "access", "forward", _ACCESS, 0, rate_bps=line))
        line = None
    if not behind:
        forward += delay("forward", ahead + extra, line)
    own_delay = ahead + extra if behind and not separate else 0
    forward.append(_bottleneck(path.bottleneck, "forward", _BOTTLENECK, own_delay))
    if behind and separate:
        forward += delay("forward", ahead + extra)

    mirror = path.reverse == "mirror"
    queue = path.bottleneck if mirror else path.reverse if isinstance(path.reverse, Bottleneck) else None
    last = where == "after" and queue is not None
    reverse: list[Stage] = []
    if not last:
        reverse += delay("reverse", back + extra)
    if queue is not None:
        origin = _BOTTLENECK if mirror else Origin(("path", "reverse"), PORT)
        reverse.append(_bottleneck(queue, "reverse", origin, back + extra if last and not separate else 0))
    if last and separate:
        reverse += delay("reverse", back + extra)
    return forward, reverse or [Stage(f"{name}-reverse", name, "reverse", _DELAY, 0)]


def _own(path: Written) -> tuple[list[Stage], list[Stage]]:
    """The stages of connections that each have an RTT of their own, which the delays add."""
    parts: dict[Direction, PartOfRtt | None] = {"forward": "first-half", "reverse": "second-half"}
    if path.delay.where == "ack-path":
        parts = {"forward": None, "reverse": "whole"}

    def own(stage: Stage) -> Stage:
        if stage.name != f"delay-{_SOME}":
            return stage
        ids = ("delay-own", "delay-own-reverse")
        stage_id, opposite = ids if stage.direction == "forward" else ids[::-1]
        part = parts[stage.direction]
        return stage._replace(id=stage_id, name="delay-own", opposite=opposite, delay_ns=int(path.delay.extra), own_rtt=part)

    forward, reverse = _dumbbell(path, _SOME, separate=True)
    return [own(stage) for stage in forward], [own(stage) for stage in reverse]


_SOME = Duration(2)
"""An RTT that gives every delay a stage."""


def _bottleneck(queue: Bottleneck, direction: Direction, origin: Origin, delay_ns: int) -> Stage:
    ids = ("bottleneck", "bottleneck-reverse")
    own, opposite = ids if direction == "forward" else ids[::-1]
    return Stage(own, "bottleneck", direction, origin, delay_ns, queue, opposite=opposite)


def _explicit(path: Written, written: Sequence[WrittenStage]) -> tuple[list[Stage], list[Stage]]:
    """The stages as they are listed."""
    ids = Ids()
    names = _names(written)
    forward_ids = _take(ids, written, names)
    if path.reverse == "mirror":
        reverse_ids = [ids.take(f"{each}-reverse") for each in forward_ids]
        forward = [
            _stage(stage, own, name, "forward", ("path", "forward", i), opposite)
            for i, (stage, own, name, opposite) in enumerate(zip(written, forward_ids, names, reverse_ids, strict=True))
        ]
        reverse = [
            _stage(stage, own, name, "reverse", ("path", "forward", i), opposite)
            for i, (stage, own, name, opposite) in enumerate(zip(written, reverse_ids, names, forward_ids, strict=True))
        ]
        return forward, reverse
    forward = [
        _stage(stage, own, name, "forward", ("path", "forward", i), None)
        for i, (stage, own, name) in enumerate(zip(written, forward_ids, names, strict=True))
    ]
    listed = path.reverse if isinstance(path.reverse, list) else []
    names = _names(listed)
    reverse = [
        _stage(stage, own, name, "reverse", ("path", "reverse", i), None)
        for i, (stage, own, name) in enumerate(zip(listed, _take(ids, listed, names, "-reverse"), names, strict=True))
    ]
    return forward, reverse or [Stage(ids.take("delay-reverse"), "delay", "reverse", Origin(("path", "reverse")), 0)]


def _names(listed: Sequence[WrittenStage]) -> list[str]:
    """The name as written, or the kind with its position."""
    return [stage.name or f"{'queue' if isinstance(stage, QueueStage) else 'delay'}-{i}" for i, stage in enumerate(listed, 1)]


def _take(ids: Ids, listed: Sequence[WrittenStage], names: Sequence[str], suffix: str = "") -> list[str]:
    """An id for each stage; those that have a name are served first."""
    taken = {i: ids.take(names[i] + suffix) for i in sorted(range(len(listed)), key=lambda i: listed[i].name is None)}
    return [taken[i] for i in range(len(listed))]


def _stage(stage: WrittenStage, own: str, name: str, direction: Direction, location: tuple[str | int, ...], opposite: str | None) -> Stage:
    origin = Origin(location, PORT)
    if isinstance(stage, QueueStage):
        return Stage(own, name, direction, origin, int(stage.delay), stage, opposite=opposite)
    rate_bps = None if stage.rate is None else int(stage.rate)
    facts = {"rate_bps": rate_bps, "limit": stage.limit, "opposite": opposite, "faults": stage.planned_faults()}
    return Stage(own, name, direction, origin, int(stage.delay), **facts)  # type: ignore[arg-type]
