"""Runs with congestion controls from libraries. Each is computed in a process of its own, which alone loads them."""

from __future__ import annotations

import math
from typing import Any

from dumbbell.engines.prepared import Prepared, not_allowed
from dumbbell.errors import BadInput
from dumbbell.executor import WorkerDied
from dumbbell.executor.apart import call
from dumbbell.scenario.function import Round

LEAST_CPU_S = 60
"""A run may take this many CPU seconds, and `CPU_FACTOR` times what is expected of it: one that takes longer is taken to be stuck."""
CPU_FACTOR = 20


class Failed(Exception):
    """A run that ended because of its library, in a line."""


def called(prepared: Prepared) -> dict[int, tuple[Any, ...]] | None:
    """The functions in Python that a run calls, as the simulator takes them. They are called in this process."""
    functions = prepared.functions
    return {number: (each.name, each.make, Round, each.paced) for number, each in functions.items()} if functions else None


def simulate(prepared: Prepared, cpu_s: float) -> tuple[Any, float]:
    """What the simulator gives for a run that is expected to take `cpu_s`, and the CPU seconds that it took.

    Raises `Failed` if it crashed, was stuck or set a window of nonsense, `ScenarioError` if a library does not fit or refuses its
    parameters, and `BadInput` if loading is not allowed or a library is another one than when the run was prepared.
    """
    if not prepared.may_load:
        raise BadInput(not_allowed(prepared.libraries.values()))
    limit = math.ceil(LEAST_CPU_S + CPU_FACTOR * cpu_s)
    names = " and ".join(sorted(path.rpartition("/")[2] for path in prepared.libraries.values()))
    try:
        (kind, found), took = call("dumbbell.native:simulate_loaded", prepared.compiled, prepared.libraries, cpu_s=limit)
    except WorkerDied as death:
        raise Failed(f"{death}; it ran {names}") from None
    if kind == "changed":
        raise BadInput(f"{found}; expected the library that the run was prepared with")
    if kind == "refused":
        raise prepared.refused(found)
    if kind == "failed":
        raise Failed(" ".join(found.split()))
    return found, took
