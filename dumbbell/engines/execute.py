"""Runs what a store does not have, each run on the engine that its scenario names."""

from __future__ import annotations

import platform
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from dumbbell.engines import engine
from dumbbell.engines.pool import default_workers, in_parallel
from dumbbell.errors import Interrupted
from dumbbell.scenario import ResolvedScenario

if TYPE_CHECKING:
    from dumbbell.results import Run, Store

Progress = Callable[[int, int], None]
"""Called with (runs done, runs to do)."""


def refuse(runs: Sequence[ResolvedScenario]) -> None:
    """Raises `ScenarioError` with everything in the runs that their engines cannot run; each problem once. Runs nothing."""
    for name in dict.fromkeys(run.settings.engine for run in runs):
        engine(name).refuse([run for run in runs if run.settings.engine == name])


def key(resolved: ResolvedScenario) -> str:
    """The content hash of a run. Raises `EnvironmentFault` if its engine is not there."""
    return engine(resolved.settings.engine).key(resolved)


def execute(
    runs: Sequence[ResolvedScenario],
    store: Store | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Run]:
    """Runs those that the store does not have, the longest first, and returns all in the order given.

    The results do not depend on the number of workers. A run that crashed is returned but not kept, so that it is tried again.
    Raises `ScenarioError` for what an engine cannot do, `Interrupted` on Ctrl-C, `EnvironmentFault` if the disk is full or an
    engine is not there; the store then holds whole runs, and the same call goes on from there.
    """
    refuse(runs)
    keys = [key(resolved) for resolved in runs]
    if store is not None:
        store.ask([(resolved.name, resolved.cell, k) for resolved, k in zip(runs, keys, strict=True)])
    todo = list(range(len(runs))) if store is None else [i for i, k in enumerate(keys) if store.missing([k])]
    for name in dict.fromkeys(runs[i].settings.engine for i in todo):
        engine(name).require()
    todo.sort(key=lambda i: -engine(runs[i].settings.engine).cpu_s(runs[i]))
    if progress is not None:
        progress(0, len(todo))
    jobs = [partial(_keep, runs[i], keys[i], store) for i in todo]
    done: dict[int, Run] = {}
    try:
        for job, finished in in_parallel(jobs, workers or default_workers()):
            done[todo[job]] = finished
            if progress is not None:
                progress(len(done), len(todo))
    except (Interrupted, KeyboardInterrupt):
        place = f"; {len(runs) - len(store.missing(keys))} of {len(runs)} runs are in {store.path}" if store is not None else ""
        raise Interrupted(f"interrupted{place}, the same command goes on from there" if place else "interrupted") from None
    return [
        done[i] if store is None or i in done else replace(store.get(k), name=resolved.name, cell=resolved.cell)
        for i, (resolved, k) in enumerate(zip(runs, keys, strict=True))
    ]


def _keep(resolved: ResolvedScenario, run_key: str, store: Store | None) -> Run:
    produce = engine(resolved.settings.engine).produce
    if store is None:
        return produce(resolved, run_key)
    with store.claim(run_key) as there:
        if there is not None:  # another process has run it since
            return replace(there, name=resolved.name, cell=resolved.cell)
        wall, cpu = time.perf_counter(), time.thread_time()
        finished = produce(resolved, run_key)
        if not finished.counters:
            return finished
        cost = {"wall_s": time.perf_counter() - wall, "cpu_s": time.thread_time() - cpu + (finished.cpu_s or 0.0)}
        return store.write(finished, shlex.join(sys.argv), {**host(), **cost})


@cache
def host() -> Mapping[str, Any]:
    """Facts about this machine, for host.json."""
    from dumbbell import __version__

    return {
        "dumbbell": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "processors": default_workers(),
    }
