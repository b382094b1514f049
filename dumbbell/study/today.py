"""Runs of a study as hosts of today can have them: on Linux as it is there, with its queue disciplines.

Runs that need another host (FreeBSD, SCE, a congestion control that no kernel has) are left out, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from dumbbell.scenario import ResolvedScenario, ScenarioError, Settings

_LINUX = "linux-"
"""Prefix of the names of all stacks of Linux."""
_HOST = "host"
"""The stack that a machine has."""
_OF_VARIANTS = ("variant", "hz")
"""Keys of a queue discipline that make it that of another kernel."""
_OF_OTHER_PROGRAMS = "first_write"
"""Key of a program that wrote a header before its data, as old programs did."""


def on_hosts_of_today(runs: Iterable[ResolvedScenario], engine: str) -> tuple[list[ResolvedScenario], list[str]]:
    """The runs that hosts of today can have, each for the engine and as they can have it, and why others are left out: a line for each
    reason with the number of its runs.
    """
    from dumbbell.running.prepare import refuse

    there: list[ResolvedScenario] = []
    reasons: Counter[str] = Counter()
    for run in runs:
        found = ResolvedScenario(Settings.model_validate({"name": run.name, **_today(run.dump()), "engine": engine}), run.cell)
        try:
            refuse([found])
        except ScenarioError as error:
            reasons["; ".join(dict.fromkeys(f"{problem.what}, expected {problem.expected}" for problem in error.problems))] += 1
        else:
            there.append(found)
    return there, [f"{count} {'run is' if count == 1 else 'runs are'} left out: {reason}" for reason, count in reasons.items()]


def _today(data: Any) -> Any:
    if isinstance(data, list):
        return [_today(each) for each in data]
    if not isinstance(data, dict):
        return data
    gone = {_OF_OTHER_PROGRAMS, *(_OF_VARIANTS if "variant" in data else ())}
    found = {key: _today(value) for key, value in data.items() if key not in gone}
    stack = found.get("stack")
    base = stack.get("base") if isinstance(stack, dict) else stack
    if isinstance(base, str) and base.startswith(_LINUX):
        found["stack"] = _HOST
    return found
