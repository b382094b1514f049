"""A sketch of a plan in plain text: what packets pass in either direction, and whose they are.

            delay  bottleneck
                     10mbit
                    fq_codel
             20ms
    left  ----o--------o-------> right  cubic (2)

A column is a port, with its rate, its queue discipline and its delay; a line is a path, with an `o` where it passes a port.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from dumbbell.plan.changes import RateChange
from dumbbell.plan.model import Direction, Path, Plan, Queue
from dumbbell.scenario.units import Duration, Rate

_WIDEST = 110
"""Characters of a line; a sketch that would be wider is a list."""
_MOST_LINES = 12
"""Paths that are drawn of a direction, or listed."""
_MOST_NAMED = 3
"""Workloads that are named at a path."""
_DIRECTIONS: tuple[Direction, Direction] = ("forward", "reverse")


def sketch(plan: Plan) -> list[str]:
    """The lines of a sketch; of a network that is too large for one, a list of its paths."""
    drawn = [_drawn(plan, direction) for direction in _DIRECTIONS]
    lines: list[str] = []
    for direction, block in zip(_DIRECTIONS, drawn, strict=True):
        lines += ["", *(block if block is not None else _listed(plan, direction))]
    return lines[1:]


def _drawn(plan: Plan, direction: Direction) -> list[str] | None:
    """Draw the ports of a direction: forward paths from left to right, reverse paths from right to left. None if there is no room, or if
    the paths of a direction pass some ports in opposite orders."""
    paths = _paths(plan, direction)
    order = _order([ports for _, ports in paths])
    if order is None or len(paths) > _MOST_LINES:
        return None
    forward = direction == "forward"
    columns = [(port, _facts(plan, port)) for port in (order if forward else reversed(order))]
    widths = [max(map(len, facts)) + 2 for _, facts in columns]
    names = _names(plan)
    margin = max(len(name) for name in names.values())
    heads = [
        "".join(facts[row].center(width) for (_, facts), width in zip(columns, widths, strict=True))
        for row in range(len(_facts(plan, order[0])))
    ]
    indent = " " * (margin + (2 if margin else 0) + len("left  -"))
    lines = [f"{indent}{head}".rstrip() for head in heads if head.strip()]
    for path, ports in paths:
        track = "".join(("o" if port in ports else "-").center(width, "-") for (port, _), width in zip(columns, widths, strict=True))
        ends = f"left  -{track}-> right" if forward else f"left <-{track}-- right"
        name = f"{names[path.id]:{margin}}  " if margin else ""
        lines.append(f"{name}{ends}  {_traffic(plan, path, direction)}".rstrip())
    return lines if max(map(len, lines)) <= _WIDEST else None


def _listed(plan: Plan, direction: Direction) -> list[str]:
    paths, names = _paths(plan, direction), _names(plan)
    first, last = ("left", "right") if direction == "forward" else ("right", "left")
    lines = []
    for path, ports in paths[:_MOST_LINES]:
        stages = (" ".join(fact for fact in _facts(plan, port) if fact) for port in ports)
        lines.append(f"{names[path.id]}  {' > '.join((first, *stages, last))}  {_traffic(plan, path, direction)}".strip())
    return lines if len(paths) <= _MOST_LINES else [*lines, f"... and {len(paths) - _MOST_LINES} more paths"]


def _paths(plan: Plan, direction: Direction) -> list[tuple[Path, tuple[int, ...]]]:
    """Yield the packets of the direction with the ports that they pass, in order."""
    return [(path, path.ways(direction)[0]) for path in plan.paths]


def _order(ways: Sequence[Sequence[int]]) -> list[int] | None:
    """Return the ports in an order in which each port comes after all ports that some way passes before it; None if there is no such
    order."""
    before: dict[int, set[int]] = {}
    for way in ways:
        for i, port in enumerate(way):
            before.setdefault(port, set()).update(way[max(i - 1, 0) : i])
    try:
        return list(TopologicalSorter(before).static_order())
    except CycleError:
        return None


def _facts(plan: Plan, number: int) -> tuple[str, str, str, str]:
    """Name, rate, queue discipline and delay of a port, as far as it has them."""
    port = plan.ports[number]
    delay = f"{Duration(port.delay_ns)}" if port.delay_ns else ""
    if isinstance(port, Queue):
        return port.name, _rate(plan, number, port), str(port.qdisc["kind"]), delay
    return port.name, "" if port.rate_bps is None else f"{Rate(port.rate_bps)}", "", f"+{delay or '0s'}" if port.own_rtt else delay


def _rate(plan: Plan, number: int, port: Queue) -> str:
    """Return the rate of a queue; for one that changes, its mean over the run, and its minimum and maximum."""
    first = port.rate_bps
    if not first:
        return ""
    if port.shaper["kind"] == "trace":
        return f"trace, mean {first / 1e6:.3g} Mbit/s"
    changes = sorted(
        (each.at_ns, each.rate_bps)
        for each in plan.schedule
        if isinstance(each, RateChange) and each.port == number and each.at_ns < plan.duration_ns
    )
    if not changes:
        return f"{Rate(first)}"
    steps = [(0, first), *changes, (plan.duration_ns, 0)]
    mean = sum(rate * (until - at) for (at, rate), (until, _) in pairwise(steps)) / plan.duration_ns
    rates = [rate for _, rate in steps[:-1]]
    return f"mean {mean / 1e6:.3g} Mbit/s, {min(rates) / 1e6:.3g} to {max(rates) / 1e6:.3g}"


def _names(plan: Plan) -> Mapping[str, str]:
    """Return the names of paths by id; a single path needs no name."""
    return {path.id: path.id if len(plan.paths) > 1 else "" for path in plan.paths}


def _traffic(plan: Plan, path: Path, direction: Direction) -> str:
    """The workloads whose data go this way."""
    texts = list(_workloads(plan, path, direction))
    more = len(texts) - _MOST_NAMED
    return ", ".join(texts if more <= 1 else [*texts[:_MOST_NAMED], f"{more} more"])


def _workloads(plan: Plan, path: Path, direction: Direction) -> Iterator[str]:
    for workload in plan.workloads:
        others = workload.parameters.get("paths", ()) if hasattr(workload, "parameters") else ()
        if workload.direction == direction and any(plan.paths[i] is path for i in (workload.path, *others)):
            count = len(workload.flows)
            yield f"{workload.id} ({count})" if count > 1 else workload.id
