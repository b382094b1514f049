"""Entities that get series: names become positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dumbbell.errors import nearest, one_of
from dumbbell.plan.model import Port, Series
from dumbbell.plan.provenance import Origin
from dumbbell.scenario import Choice, ResolvedScenario, ScenarioError, applications, flow_bases, groups_coming


def series(resolved: ResolvedScenario, ports: Sequence[Port], origins: Sequence[Origin]) -> Series:
    """Return the series that a scenario chooses. `origins` are those of the workloads of the plan.

    Raises `ScenarioError` if it names a port that does not exist. Names of flows are checked with the scenario.
    """
    settings = resolved.settings
    entries: dict[str, list[int]] = {}
    groups: dict[str, list[int]] = {}
    bases, coming = flow_bases(settings.flows), groups_coming(settings)
    open_, named = applications(settings), settings.series.flows
    for i, (where, entry) in enumerate(origin.location[:2] for origin in origins):
        assert isinstance(entry, int)  # an entry of `flows` or `background`
        if where == "flows":
            entries.setdefault(bases[entry], []).append(i)
            groups.setdefault(bases[entry], []).append(i)
        elif entry in open_ and isinstance(named, list) and open_[entry] in named:
            entries.setdefault(open_[entry], []).append(i)
        elif entry in coming:
            groups.setdefault(coming[entry], []).append(i)
    ids = {port.id: [i] for i, port in enumerate(ports)}
    chosen = settings.series
    problems = [
        resolved.problem(("series", kind, i), f"there is no port {name!r}{nearest(name, ids)}", one_of(ids))
        for kind, choice in (("ports", chosen.ports), ("shares", chosen.shares))
        for i, name in enumerate(choice if isinstance(choice, list) else ())
        if name not in ids
    ]
    if problems:
        raise ScenarioError(problems)
    return Series(
        _positions(chosen.flows, entries),
        _positions(chosen.groups, groups),
        _positions(chosen.ports, ids),
        _positions(chosen.shares, ids),
        tuple(dict.fromkeys(chosen.state)),
        tuple(dict.fromkeys(settings.events)),
    )


def _positions(choice: Choice, known: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
    names = known if choice == "all" else () if choice == "none" else dict.fromkeys(choice)
    return tuple(sorted(i for name in names for i in known[name]))
