"""The lowering of a path: from `rtt`, `delay`, `access`, `bottleneck` to stages in order, in each direction.

| `delay.where` | forward | reverse |
|---|---|---|
| `before` | access line, rtt/2 + extra, bottleneck | rtt/2 + extra, bottleneck-reverse |
| `after` | access line, bottleneck, rtt/2 + extra | bottleneck-reverse, rtt/2 + extra |
| `ack-path` | access line, bottleneck, extra | rtt + extra, bottleneck-reverse |

A delay of nothing is no stage, unless the direction would have none. A delay behind a bottleneck is that stage's own
propagation delay, and the access line is the line of the delay stage that follows it; they become stages of their own
where flows differ in RTT or the delay has a limit. Stages of one name are one queue, whatever flows pass through it.
"""

from __future__ import annotations

from dataclasses import dataclass

from dumbbell.scenario.model import Bottleneck, DelayStage, Flow, Path, QueueStage, Settings, Stage
from dumbbell.scenario.units import Duration


@dataclass(frozen=True)
class Stages:
    """The way of a flow; every stage has a name."""

    forward: tuple[DelayStage | QueueStage, ...]
    reverse: tuple[DelayStage | QueueStage, ...]
    base_rtt_ns: int
    """The RTT that `bdp` means: `rtt` as written, or the sum of the delays of explicit stages."""


def queue_names(settings: Settings) -> list[str]:
    """The names of all stages that queue, in either direction."""
    ways = [stages(settings.path, settings.flows, flow) for flow in settings.flows]
    return sorted({str(stage.name) for way in ways for stage in way.forward + way.reverse if isinstance(stage, QueueStage)})


_WIRE = (DelayStage(name="delay-reverse"),)
"""A direction without anything in it."""


def stages(path: Path, flows: list[Flow], flow: Flow) -> Stages:
    """The stages that `flow`, one of `flows`, passes. `path` must have passed `check`."""
    if path.forward is not None:
        return _explicit(path)
    rtt = flow.rtt if flow.rtt is not None else path.rtt
    assert rtt is not None
    assert path.bottleneck is not None
    where, extra, limit = path.delay.where, int(path.delay.extra), path.delay.limit
    separate = limit is not None or any(other.rtt not in (None, path.rtt) for other in flows)
    suffix = "" if rtt == path.rtt else f"-{rtt}"
    ahead, back = (0, int(rtt)) if where == "ack-path" else (int(rtt) // 2, int(rtt) - int(rtt) // 2)

    def delay(name: str, ns: int, rate: DelayStage | None = None) -> list[DelayStage]:
        line = rate.rate if rate else None
        if ns == 0 and line is None:
            return []
        return [DelayStage(name=name, delay=Duration(ns), rate=line, limit=limit if ns else None)]

    access = DelayStage(name="access", rate=path.access.rate) if path.access else None
    behind = where != "before"
    forward: list[DelayStage | QueueStage] = []
    if behind or separate:
        forward += [access] if access else []
        access = None
    if not behind:
        forward += delay("delay" + suffix, ahead + extra, access)
    forward += _queue("bottleneck", path.bottleneck, ahead + extra if behind and not separate else 0)
    if behind and separate:
        forward += delay("delay" + suffix, ahead + extra)

    opposite = path.bottleneck if path.reverse == "mirror" else path.reverse
    queue = opposite if isinstance(opposite, Bottleneck) else None
    last = where == "after" and queue is not None
    reverse: list[DelayStage | QueueStage] = []
    if not last:
        reverse += delay(f"delay{suffix}-reverse", back + extra)
    if queue is not None:
        reverse += _queue("bottleneck-reverse", queue, back + extra if last and not separate else 0)
    if last and separate:
        reverse += delay(f"delay{suffix}-reverse", back + extra)
    return Stages(tuple(forward), tuple(reverse) or _WIRE, int(rtt))


def _queue(name: str, bottleneck: Bottleneck, delay_ns: int) -> list[QueueStage]:
    settings = {key: getattr(bottleneck, key) for key in Bottleneck.model_fields}
    return [QueueStage(**settings, name=name, delay=Duration(delay_ns))]


def _explicit(path: Path) -> Stages:
    assert path.forward is not None
    opposite = path.forward if path.reverse == "mirror" else path.reverse
    forward = _named(path.forward, "")
    reverse = (_named(opposite, "-reverse") if isinstance(opposite, list) else ()) or _WIRE
    return Stages(forward, reverse, sum(int(stage.delay) for stage in forward + reverse))


def _named(written: list[Stage], suffix: str) -> tuple[DelayStage | QueueStage, ...]:
    named = []
    for i, stage in enumerate(written, 1):
        kind = "queue" if isinstance(stage, QueueStage) else "delay"
        named.append(stage.model_copy(update={"name": (stage.name or f"{kind}-{i}") + suffix}))
    return tuple(named)
