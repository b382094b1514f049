"""Runs of a study as hosts of today can have them: on Linux as it is there, with its queue disciplines.

Runs that need another host (FreeBSD, SCE, a congestion control that no kernel has) are left out, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell.scenario import ResolvedScenario

_LINUX = "linux-"
"""Prefix of the names of all stacks of Linux."""
_HOST = "host"
"""The stack that a machine has."""
_KERNEL = "kernel"
"""The engine whose stack is that of its kernel."""
_OF_VARIANTS = ("variant", "hz")
"""Keys of a queue discipline that make it that of another kernel."""
_OF_OTHER_PROGRAMS = "first_write"
"""Key of a program that wrote a header before its data, as old programs did."""


def is_of_today(name: str) -> bool:
    """True if the hosts of an engine are Linux as it is there: machines, or the kernel."""
    from dumbbell.engines import engine

    return engine(name).in_real_time or is_kernel(name)


def is_kernel(name: str) -> bool:
    """True if an engine is a kernel in virtual time."""
    return name.partition(":")[0] == _KERNEL


def _stack_of(name: str) -> str:
    """Return the stack that the hosts of an engine have."""
    from dumbbell.engines import engine

    return next(iter(engine(name).capabilities().stack)) if is_kernel(name) else _HOST


def on_hosts_of_today(runs: Iterable[ResolvedScenario], engine: str) -> tuple[list[ResolvedScenario], list[str]]:
    """The runs that hosts of today can have, each for the engine and as they can have it, and why others are left out: a line for each
    reason with the number of its runs.
    """
    from dumbbell.running.prepare import refuse
    from dumbbell.scenario import ResolvedScenario, ScenarioError, Settings

    stack = _stack_of(engine)
    there: list[ResolvedScenario] = []
    reasons: Counter[str] = Counter()
    for run in runs:
        found = ResolvedScenario(Settings.model_validate({"name": run.name, **_today(run.dump(), stack), "engine": engine}), run.cell)
        try:
            refuse([found])
        except ScenarioError as error:
            reasons["; ".join(dict.fromkeys(f"{problem.what}, expected {problem.expected}" for problem in error.problems))] += 1
        else:
            there.append(found)
    return there, [f"{count} {'run is' if count == 1 else 'runs are'} left out: {reason}" for reason, count in reasons.items()]


def _today(data: Any, host: str) -> Any:
    """Return plain data of a scenario for hosts with this stack."""
    if isinstance(data, list):
        return [_today(each, host) for each in data]
    if not isinstance(data, dict):
        return data
    gone = {_OF_OTHER_PROGRAMS, *(_OF_VARIANTS if "variant" in data else ())}
    found = {key: _today(value, host) for key, value in data.items() if key not in gone}
    stack = found.get("stack")
    base = stack.get("base") if isinstance(stack, dict) else stack
    if isinstance(base, str) and base.startswith(_LINUX):
        found["stack"] = host
    return found
