"""Runs the runs that a store lacks, each on the engine that its scenario names."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dumbbell.engines import engine
from dumbbell.engines.prepared import NOTHING, Allowed, Prepared, refuse_unallowed
from dumbbell.errors import BadInput, DamagedRun, Interrupted
from dumbbell.executor import Executor, Finished, Local, Threads, WorkerDied
from dumbbell.executor.interrupt import Aborted, deferred, uninterrupted
from dumbbell.executor.progress_state import Progress, ProgressState
from dumbbell.results.storage.place import CLUSTER
from dumbbell.running.machine import host
from dumbbell.running.places import places
from dumbbell.running.prepare import not_storable
from dumbbell.running.sweep import Jobs, Listed, Requested, requests

if TYPE_CHECKING:
    from dumbbell.results import Results, Run, Store
    from dumbbell.running.cluster.sweep import ClusterSweep

_MOST_ROWS = 10_000
"""Flows of stored runs that stay in memory."""
_POLL_S = 0.1
"""Between looks at whether other processes have finished the runs that they are at."""


def execute(
    runs: Sequence[Prepared],
    store: Store | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    repair: bool = False,
    allowed: Allowed = NOTHING,
) -> Results:
    """Run those that the store lacks, the longest first, and return all in the given order.

    A damaged run in the store is left out with a `DamagedRunWarning`; with `repair` it is rerun, and replaced once that is done. The
    results do not depend on the executor (threads, one a processor, by default) or its number of workers. A run that crashed is returned
    but not kept, so that it is tried again. `allowed`: computing them may execute that. Raises `BadInput` if it would execute
    more than it is allowed to, `Interrupted` on Ctrl-C, `EnvironmentFault` if the disk is full or an engine is missing;
    the store then holds whole runs, and the same call goes on from there.
    """
    from dumbbell.results import Results

    if store is not None and (named := {function.name for run in runs for function in run.functions.values()}):
        raise BadInput(not_storable(named))
    outcome = execute_each(Listed(runs), store, executor, progress, repair, allowed)
    found = tuple(outcome)
    return Results(found, tuple(outcome.damaged.values()))


def execute_each(
    jobs: Jobs,
    store: Store | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    repair: bool = False,
    allowed: Allowed = NOTHING,
) -> Outcome:
    """Execute like `execute`, but read stored runs one by one, when they are iterated over, so that memory does not hold them all."""
    executor = executor or Threads()
    if store is not None:
        store.request(requests(jobs), replace=not repair)
    todo: dict[str, int] = {}
    for i in range(len(jobs)):
        key = jobs.key(i)
        if store is None or store.missing([key]) or (repair and not store.is_whole(key)):
            todo.setdefault(key, i)
    if todo:
        refuse_unallowed(jobs.libraries, jobs.own_programs, jobs.in_kernel, allowed)
    for i in {jobs.sources(i): i for i in todo.values()}.values():
        engine(jobs.engine(i)).require(jobs[i].plan)
    sweep = _sweep(jobs, list(todo.values()), store, executor, progress, allowed, repair)

    def ending() -> Interrupted:
        return interrupted_at(store, "" if store is None else f"{count_stored(jobs, store)} of {len(jobs)}")

    with deferred(lambda: str(ending())) as interrupted:
        try:
            at_hand = sweep.finish(interrupted)
        except Aborted:
            raise ending() from None
        if interrupted():
            raise ending()
    return Outcome(jobs, store, at_hand, ran=len(todo) - sweep.elsewhere)


def count_stored(jobs: Requested, store: Store) -> int:
    """Return how many of the runs the store has."""
    return len(jobs) - len(store.missing(map(jobs.key, range(len(jobs)))))


def interrupted_at(store: Store | None, count: str) -> Interrupted:
    """The error after Ctrl-C; `count`: of the runs that the store has."""
    there = "" if store is None else f"; {count} runs are in {store.path}, the same command goes on from there"
    return Interrupted(f"interrupted{there}")


@dataclass(frozen=True)
class Outcome:
    """The runs of a call of `execute_each`, in the order given."""

    _jobs: Requested
    _store: Store | None
    at_hand: Mapping[str, Run]
    """By key, the runs that are not in the store, and runs that this process has just written."""
    damaged: dict[str, DamagedRun] = field(default_factory=dict)
    """By key, the stored runs that were left out when the runs were iterated over."""
    ran: int = 0
    """Runs that were computed: not those that other processes have stored meanwhile."""

    def __iter__(self) -> Iterator[Run]:
        """Reads the runs. Damaged ones are left out with a `DamagedRunWarning`."""
        from dumbbell.results import leave_out

        for i in range(len(self._jobs)):
            key = self._jobs.key(i)
            try:
                run = self.at_hand[key] if self._store is None or key in self.at_hand else self._store.get(key)
            except DamagedRun as damage:
                if key not in self.damaged:
                    self.damaged[key] = damage
                    leave_out(damage)
                continue
            name, cell = self._jobs.asked(i)
            yield replace(run, name=name, cell=cell)


def _sweep(
    jobs: Jobs, todo: list[int], store: Store | None, executor: Executor, progress: Progress | None, allowed: Allowed, repair: bool
) -> _Sweep | ClusterSweep:
    """The runs on their way to where they are computed."""
    if isinstance(executor, Local):
        return _Sweep(jobs, todo, store, executor, progress, allowed)
    from dumbbell.executor.cluster import Cluster
    from dumbbell.running.cluster.sweep import ClusterSweep

    if not isinstance(executor, Cluster):
        raise TypeError(f"{type(executor).__name__} is no executor that is known; expected a subclass of dumbbell.executor.Local")
    return ClusterSweep(jobs, todo, store, executor, progress, allowed, repair)


class _Sweep:
    """Runs on their way through an executor: claimed, computed, kept."""

    def __init__(
        self, jobs: Jobs, todo: list[int], store: Store | None, executor: Local, progress: Progress | None, allowed: Allowed
    ) -> None:
        self._jobs, self._allowed = jobs, allowed
        self._todo = sorted(todo, key=lambda i: -jobs.cpu_s(i))
        self._store, self._executor, self._progress = store, executor, progress
        self._claims: dict[str, ExitStack] = {}
        """Begun runs that are not yet kept."""
        self._begun: dict[str, tuple[float, float]] = {}
        """Start of each of them, `time.monotonic()`, and its cost."""
        self._state = ProgressState(total=len(todo), cost_total=sum(map(jobs.cpu_s, todo)), workers=executor.workers)
        self._at_hand: dict[str, Run] = {}
        self._rows = 0
        """Rows of the flows of runs that stay at hand."""
        self.elsewhere = 0
        """Runs that other processes have stored meanwhile."""
        self._error: Exception | None = None

    def finish(self, interrupted: Callable[[], bool]) -> dict[str, Run]:
        """Return the runs at hand, by key: those that are not stored, and stored ones as far as there are not many.

        Raises the exception of a job, after the begun runs are kept.
        """

        def stopped() -> bool:
            return interrupted() or self._error is not None

        self._tell()
        waiting = self._todo
        try:
            while waiting and not stopped():
                elsewhere: list[int] = []
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
        return self._at_hand

    def _ours(self, waiting: Sequence[int], elsewhere: list[int]) -> Iterator[Prepared]:
        """The jobs that this process claims; those that another process is computing go to `elsewhere`."""
        for i in waiting:
            key, cost = self._jobs.key(i), self._jobs.cpu_s(i)
            with ExitStack() as claim:
                if self._store is not None:
                    try:
                        there = claim.enter_context(self._store.claim(key))
                    except BlockingIOError:
                        elsewhere.append(i)
                        continue
                    if self._store.place.is_claimed(CLUSTER):  # looked at after the claim, as the other looks at claims after its own
                        what = f"{self._store.path}: another process has runs for it computed by a cluster"
                        raise BadInput(f"{what}; expected to wait for it")
                    if there is not None:
                        self.elsewhere += 1
                        self._finish(there, cost)
                        continue
                self._claims[key] = claim.pop_all()
            self._begun[key] = time.monotonic(), cost
            self._tell()
            yield self._jobs[i] if self._allowed == NOTHING else replace(self._jobs[i], allowed=self._allowed)

    def _take(self, finished: Finished[Prepared]) -> None:
        """Stores the result of a job."""
        job, run = finished.job, finished.run
        _, cost = self._begun.pop(job.key)
        with self._claims.pop(job.key):
            if isinstance(finished.error, WorkerDied):
                run = job.crashed(str(finished.error))
            elif finished.error is not None:
                self._error = self._error or finished.error
                return
            assert run is not None  # there is no error
            if self._store is not None and run.is_complete:
                took = {"wall_s": finished.wall_s, "cpu_s": finished.cpu_s + (run.cpu_s or 0.0)}
                uninterrupted(partial(self._write, self._store, run, {**took, **places(job)}))
            else:
                self._at_hand[job.key] = run
        self._finish(run, cost, finished.wall_s)

    def _write(self, store: Store, run: Run, took: Mapping[str, Any]) -> None:
        """Store a run. If runs stay in memory it stays at hand, so that nobody reads it again."""
        written = store.write(run, shlex.join(sys.argv), {**host(), **took})
        if self._jobs.in_memory and self._rows < _MOST_ROWS:
            self._rows += len(run.flows)
            self._at_hand[run.key] = written

    def _finish(self, run: Run, cost: float, busy_s: float = 0.0) -> None:
        before = self._state
        if busy_s:
            packets = before.packets + run.arrived_packets
            self._state = replace(
                before, done=before.done + 1, cost_done=before.cost_done + cost, busy_s=before.busy_s + busy_s, packets=packets
            )
        else:  # not done here, so that its cost says nothing
            self._state = replace(before, done=before.done + 1, cost_total=before.cost_total - cost)
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(replace(self._state, running=tuple(self._begun.values())))
