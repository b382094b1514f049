"""Points on the path where packets are captured: names become positions."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dumbbell.errors import nearest, one_of
from dumbbell.plan.ports import Stage
from dumbbell.scenario import ResolvedScenario, ScenarioError
from dumbbell.scenario.series import HOSTS, at_ports


def captured_ports(resolved: ResolvedScenario, stages: Sequence[Stage], on_hosts: Collection[int]) -> tuple[tuple[int, ...], ...]:
    """Return for each point that a scenario names its port, and the port of the other direction that mirrors it. `on_hosts` are hosts' own
    queues.

    Raises `ScenarioError` if there is no such port, or if the packets that come out of it are in another capture already.
    """
    indices = {stage.id: i for i, stage in enumerate(stages) if i not in on_hosts}
    found: dict[int, str] = {}
    points, problems = [], []
    for i, name in at_ports(resolved.settings.capture):
        where = ("capture", i)
        if name not in indices:
            what = f"there is no port {name!r}{nearest(name, [HOSTS, *indices])}"
            problems.append(resolved.problem(where, what, one_of([HOSTS, *indices])))
            continue
        port = indices[name]
        if (first := found.get(port)) is not None:
            problems.append(resolved.problem(where, f"the capture at {first!r} has the packets of {name!r} too", "each of them once"))
            continue
        opposite = stages[port].opposite
        point = (port,) if opposite not in indices else (port, indices[opposite])
        found |= dict.fromkeys(point, name)
        points.append(point)
    if problems:
        raise ScenarioError(problems)
    return tuple(points)
