"""Runs with congestion controls of the user's own: those with libraries, each computed in a process of its own, which alone loads them,
and those with functions in Python, which are called in this process."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

from dumbbell.engines.prepared import Prepared, not_allowed
from dumbbell.errors import BadInput, ControlFailed
from dumbbell.executor import WorkerDied
from dumbbell.executor.apart import call
from dumbbell.native import native
from dumbbell.scenario.function import Answer, Function, Round

LEAST_CPU_S = 60
"""A run may take this many CPU seconds, and `CPU_FACTOR` times its estimate. A run that takes longer counts as stuck."""
CPU_FACTOR = 20


class Failed(Exception):
    """A run that ended because of its library, in a line."""


def simulate_calling(prepared: Prepared, stop: Any) -> Any:
    """Return the simulator's output for a run that calls functions in Python, in this process, until `stop` is set.

    Raises `ControlFailed`, with the function's exception as its cause, or for a nonsensical answer.
    """
    raised: list[tuple[Function, Exception]] = []
    functions = {number: (each.name, partial(_noted, each, raised), Round, each.paced) for number, each in prepared.functions.items()}
    try:
        return native().simulate(prepared.compiled.plan, None, functions, stop)
    except Exception as failure:
        cell = ", ".join(f"{key}: {value}" for key, value in prepared.resolved.cell.items())
        where = f"{cell}: " if cell else ""
        if raised:
            function, error = raised[0]
            frames = traceback.extract_tb(error.__traceback__)[1:] or traceback.extract_tb(error.__traceback__)
            line = [frame for frame in frames if frame.filename == frames[0].filename][-1]  # not frames that it called
            what = f"the congestion control {function} raised {type(error).__name__}: {error}"
            raise ControlFailed(f"{where}{what} ({line.filename}, line {line.lineno})") from error
        if isinstance(failure, native().Misbehaved):
            places = [each.place for each in prepared.functions.values() if each.place and f" {each.name} " in str(failure)]
            raise ControlFailed(f"{where}{failure}{f' (defined at {places[0]})' if places else ''}") from None
        raise


def _noted(function: Function, raised: list[tuple[Function, Exception]]) -> Callable[[Round], Answer]:
    """Return the function for a connection. It notes exceptions and raises them again."""

    def noted(call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except Exception as error:
            raised.append((function, error))
            raise

    return partial(noted, noted(function.make))


def simulate(prepared: Prepared, cpu_s: float) -> tuple[Any, float]:
    """Return the simulator's output for a run that is expected to take `cpu_s`, and the CPU seconds that it took.

    Raises `Failed` if the simulator crashed, was stuck or set a nonsensical window. Raises `ScenarioError` if a library does not fit or
    does not accept its parameters. Raises `BadInput` if loading is not allowed, or if a library has changed since the run was prepared.
    """
    if not prepared.allowed.library:
        raise BadInput(not_allowed(prepared.libraries.values()))
    limit = math.ceil(LEAST_CPU_S + CPU_FACTOR * cpu_s)
    names = " and ".join(sorted(path.rpartition("/")[2] for path in prepared.libraries.values()))
    try:
        (kind, found), took = call("dumbbell.native:simulate_loaded", prepared.compiled.text, prepared.libraries, cpu_s=limit)
    except WorkerDied as death:
        raise Failed(f"{death}; it ran {names}") from None
    if kind == "changed":
        raise BadInput(f"{found}; expected the library that the run was prepared with")
    if kind == "refused":
        raise prepared.refused(found)
    if kind == "failed":
        raise Failed(" ".join(found.split()))
    return found, took
