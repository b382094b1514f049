"""Runs what a store does not have, each run on the engine that its scenario names."""

from __future__ import annotations

import platform
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from dumbbell.engines import engine
from dumbbell.engines.prepared import Prepared
from dumbbell.errors import DamagedRun, Interrupted
from dumbbell.executor import Executor, Finished, Threads, WorkerDied, default_workers
from dumbbell.executor.interrupt import deferred
from dumbbell.executor.progress_state import ProgressState

if TYPE_CHECKING:
    from dumbbell.results import Results, Run, Store

Progress = Callable[[ProgressState], None]
"""Called when a run is begun and when one is done."""
_POLL_S = 0.1
"""Between looks at whether other processes have finished the runs that they are at."""


def execute(
    runs: Sequence[Prepared],
    store: Store | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    repair: bool = False,
) -> Results:
    """Runs those that the store does not have, the longest first, and returns all in the order given.

    A damaged run in the store is left out with a `DamagedRunWarning`; with `repair` it is run again, and replaced once that is done.
    The results do not depend on the executor (threads, one a processor, by default) or its number of workers. A run that crashed is
    returned but not kept, so that it is tried again.
    Raises `Interrupted` on Ctrl-C, `EnvironmentFault` if the disk is full or an engine is not there; the store then holds whole runs,
    and the same call goes on from there.
    """
    from dumbbell.results import Results, leave_out

    executor = executor or Threads()
    if store is not None:
        store.request([(job.resolved.name, job.resolved.cell, job.key) for job in runs])
    todo = {job.key: job for job in runs if store is None or store.missing([job.key]) or (repair and not store.is_whole(job.key))}
    for name in dict.fromkeys(job.engine for job in todo.values()):
        engine(name).require()
    sweep = _Sweep(list(todo.values()), store, executor, progress)
    with deferred() as interrupted:
        done = sweep.finish(interrupted)
        if interrupted():
            place = f"; {len(runs) - len(store.missing(job.key for job in runs))} of {len(runs)} runs are in {store.path}" if store else ""
            raise Interrupted(f"interrupted{place}, the same command goes on from there" if place else "interrupted")
    found, damaged = [], {}
    for job in runs:
        try:
            run = done[job.key] if store is None or job.key in done else store.get(job.key)
        except DamagedRun as error:
            damaged[job.key] = error
            continue
        found.append(replace(run, name=job.resolved.name, cell=job.resolved.cell))
    for damage in damaged.values():
        leave_out(damage)
    return Results(tuple(found), tuple(damaged.values()))


class _Sweep:
    """Runs on their way through an executor: claimed, computed, kept."""

    def __init__(self, jobs: Sequence[Prepared], store: Store | None, executor: Executor, progress: Progress | None) -> None:
        self._costs = {job.key: job.cpu_s for job in jobs}
        self._jobs = sorted(jobs, key=lambda job: -self._costs[job.key])
        self._store, self._executor, self._progress = store, executor, progress
        self._claims: dict[str, ExitStack] = {}
        """Of the runs that are begun and not yet kept."""
        self._begun: dict[str, float] = {}
        """When each of them was begun, `time.monotonic()`."""
        self._state = ProgressState(total=len(jobs), cost_total=sum(self._costs.values()), workers=executor.workers)
        self._done: dict[str, Run] = {}
        self._error: Exception | None = None

    def finish(self, interrupted: Callable[[], bool]) -> dict[str, Run]:
        """The runs by key; on an interrupt those that are finished. Raises what a job raised, after what is begun is kept."""

        def stopped() -> bool:
            return interrupted() or self._error is not None

        self._tell()
        waiting = self._jobs
        try:
            while waiting and not stopped():
                elsewhere: list[Prepared] = []
                with closing(self._executor.run(self._ours(waiting, elsewhere), stopped)) as computed:
                    for finished in computed:
                        self._take(finished)
                if len(elsewhere) == len(waiting):
                    time.sleep(_POLL_S)
                waiting = elsewhere
        finally:
            for claim in self._claims.values():
                claim.close()
        if self._error is not None:
            raise self._error
        return self._done

    def _ours(self, waiting: Sequence[Prepared], elsewhere: list[Prepared]) -> Iterator[Prepared]:
        """The jobs that this process claims; those that another process is computing go to `elsewhere`."""
        for job in waiting:
            with ExitStack() as claim:
                if self._store is not None:
                    try:
                        there = claim.enter_context(self._store.claim(job.key))
                    except BlockingIOError:
                        elsewhere.append(job)
                        continue
                    if there is not None:  # another process has computed it meanwhile
                        self._finish(job, there)
                        continue
                self._claims[job.key] = claim.pop_all()
            self._begun[job.key] = time.monotonic()
            self._tell()
            yield job

    def _take(self, finished: Finished[Prepared]) -> None:
        """Stores the result of a job."""
        job, run = finished.job, finished.run
        del self._begun[job.key]
        with self._claims.pop(job.key):
            if isinstance(finished.error, WorkerDied):
                run = _crashed(job, str(finished.error))
            elif finished.error is not None:
                self._error = self._error or finished.error
                return
            assert run is not None  # there is no error
            if self._store is not None and run.is_complete:
                cost = {"wall_s": finished.wall_s, "cpu_s": finished.cpu_s + (run.cpu_s or 0.0)}
                run = self._store.write(run, shlex.join(sys.argv), {**host(), **cost})
        self._finish(job, run, finished.wall_s)

    def _finish(self, job: Prepared, run: Run, busy_s: float = 0.0) -> None:
        self._done[job.key] = run
        before, cost = self._state, self._costs[job.key]
        if busy_s:
            packets = before.packets + _delivered(run)
            self._state = replace(
                before, done=before.done + 1, cost_done=before.cost_done + cost, busy_s=before.busy_s + busy_s, packets=packets
            )
        else:  # not done here, so that its cost says nothing
            self._state = replace(before, done=before.done + 1, cost_total=before.cost_total - cost)
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            running = tuple((since, self._costs[key]) for key, since in self._begun.items())
            self._progress(replace(self._state, running=running))


def _crashed(job: Prepared, reason: str) -> Run:
    """The run that there is none of."""
    from dumbbell.results import Run

    known = {"key": job.key, "name": job.resolved.name, "cell": job.resolved.cell, "scenario": job.scenario}
    return Run.crashed(reason, **known, engine={"name": job.engine})


def _delivered(run: Run) -> int:
    """Data packets that reached the other end."""
    return sum(int(packets or 0) for packets in run.flows.column("arrived_packets"))


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
