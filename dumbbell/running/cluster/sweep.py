"""Runs on their way through a cluster. One process hands out batches, the longest runs first, and alone writes to the store.

A batch whose worker died is recomputed in halves, each run in a process of its own. This tells the run that kills from the others in the
batch.
"""

from __future__ import annotations

import secrets
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dumbbell.engines import engine
from dumbbell.engines.prepared import NOTHING, Allowed
from dumbbell.errors import BadInput, DamagedRun, DumbbellError, EnvironmentFault, WorkerWarning
from dumbbell.executor import WorkerDied
from dumbbell.executor.cluster import Answer, Cluster, Task, Worker
from dumbbell.executor.interrupt import uninterrupted
from dumbbell.executor.progress_state import Progress, ProgressState
from dumbbell.results.storage.place import CLUSTER, PACK
from dumbbell.running.cluster.batch import Batch, Computed, Form, compute, halt, standing, writers
from dumbbell.running.cluster.confirmation import Check, Confirmations, Held
from dumbbell.running.cluster.crew import Crew
from dumbbell.running.cluster.queue import BATCH_S, LEAST_PACK, Piece, Queue
from dumbbell.running.sweep import MOST_KEPT, Jobs

if TYPE_CHECKING:
    from dumbbell.results import Run, Store

_POLL_S = 0.1
"""Between looks at whether another process has ended to pack the store."""


class ClusterSweep:
    """The runs that a store lacks, on the workers of a cluster: a source of tasks, and the handling of their answers."""

    def __init__(
        self,
        jobs: Jobs,
        todo: Sequence[int],
        store: Store | None,
        cluster: Cluster,
        progress: Progress | None = None,
        allowed: Allowed = NOTHING,
        repair: bool = False,
    ) -> None:
        """Raises `BadInput` for an engine that has machines of its own."""
        self._jobs, self._cluster, self._progress = jobs, cluster, progress
        order = sorted(todo, key=lambda i: -jobs.cpu_s(i))
        self._queue, self._confirmations = Queue(jobs, order), Confirmations.of(jobs, order)
        if jobs.functions:
            what = f"--cluster: {', '.join(sorted(jobs.functions))}: congestion controls in Python are of this process alone"
            raise BadInput(f"{what}; expected a library, or no cluster")
        refuse_real_time(self._queue.engines)
        self._sources = {name: list(engine(name).sources()) for name in self._queue.engines}
        self._repair = repair
        self._batch = partial(Batch, sweep=secrets.token_hex(8), command=shlex.join(sys.argv), allowed=allowed)
        self._kept = _Kept(store, "memory" if store is None else "packs" if len(todo) > MOST_KEPT and not repair else "folders")
        self._state = ProgressState(total=len(todo), cost_total=sum(map(jobs.cpu_s, todo)), workers=cluster.workers)
        self._under_way: set[Piece] = set()
        self._crew = Crew()
        self._suspects: set[str] = set()
        """Workers that disagree with another."""
        self.elsewhere = 0
        """Runs that other processes have stored meanwhile."""
        self._error: DumbbellError | None = None

    def finish(self, interrupted: Callable[[], bool]) -> dict[str, Run]:
        """Return the runs that are not stored, by key; on an interrupt those that are finished.

        Raises the exception of a run, after the runs under way are kept, and as `Cluster.compute` does.
        """
        if not self._queue:
            self._kept.join(interrupted)  # as far as the process that stored the runs has not joined them yet
            return {}
        with self._kept.alone(), ExitStack() as stack:
            if not self._repair and (there := self._queue.drop(self._kept.there(self._jobs))):
                self.elsewhere = len(there.positions)
                done = self._state
                self._state = replace(done, done=done.done + len(there.positions), cost_total=done.cost_total - there.cost)
            self._tell()
            if not self._queue:
                return {}
            stack.callback(self._keep_unconfirmed)  # of a sweep that ended early
            for answer in stack.enter_context(closing(self._cluster.compute(self, lambda: interrupted() or self._error is not None))):
                self._take(answer)
        if self._error is not None:
            raise self._error
        self._kept.join(interrupted, waits=True)
        return self._kept.unstored

    @property
    def waiting(self) -> bool:
        """See `TaskSource`."""
        return bool(self._queue or self._confirmations)

    @property
    def question(self) -> Task[Any]:
        """See `TaskSource`."""
        return Task(standing, tuple(self._sources))

    @property
    def halting(self) -> Task[Any]:
        """See `TaskSource`."""
        return Task(halt, self._batch.keywords["sweep"])

    def deserted(self) -> None:
        """See `TaskSource`."""
        self._keep_unconfirmed()

    def refusal(self, worker: Worker) -> str:
        """See `TaskSource`. Return a reason for a worker that can run none of the engines as they are here."""
        reasons = why_not(self._sources, worker.facts)
        return "" if len(reasons) < len(self._sources) else "; ".join(dict.fromkeys(reasons.values()))

    def lack(self, worker: Worker) -> str:
        """See `TaskSource`. It looks at the engines of the runs that are left."""
        reasons, left = why_not(self._sources, worker.facts), self._queue.left
        return "; ".join(dict.fromkeys(reasons[name] for name in left if name in reasons))

    def joins(self, worker: Worker) -> None:
        """See `TaskSource`. A worker that has not said what it is may be able to run everything."""
        reasons = {} if worker.facts is None else why_not(self._sources, worker.facts)
        self._crew.joins(worker, [name for name in self._sources if name not in reasons])

    def leaves(self, worker: Worker) -> None:
        """See `TaskSource`."""
        self._crew.leaves(worker)

    def next(self, worker: Worker, alone: bool = False) -> Task[Computed] | None:
        """See `TaskSource`."""
        if self._crew.has_alone(worker):
            return None
        able, alone = self._crew.able(worker), alone or len(self._crew) == 1
        if self._confirmations:
            self._keep_unconfirmed(worker, [] if alone else self._crew.elsewhere(worker))
        if (check := self._confirmations.next(worker, able)) is not None:
            self._crew.takes(worker, check)
            return Task(compute, self._batch(*self._part([check.position]), form="nothing", worker=worker.address), check)
        done = self._state
        pace = done.busy_s / done.cost_done if done.cost_done else 0.0
        piece = self._queue.take(able, pace, self._cluster.workers, self._crew.is_idle(worker))
        if piece is None:
            if alone and not self._under_way - self._confirmations.held:
                self._keep_unconfirmed()  # the others have gone
            return None
        self._under_way.add(piece)
        self._crew.takes(worker, piece)
        self._tell()
        is_long = self._jobs.cpu_s(piece.positions[0]) * LEAST_PACK > BATCH_S
        form: Form = "folders" if self._kept.form == "packs" and is_long else self._kept.form
        return Task(compute, self._batch(*self._part(piece.positions), form=form, worker=worker.address, apart=piece.deaths > 0), piece)

    def _part(self, positions: Sequence[int]) -> tuple[Any, tuple[str, ...]]:
        """Runs as they are sent, and their keys."""
        return self._jobs.part(positions), tuple(map(self._jobs.key, sorted(positions)))

    def _take(self, answer: Answer[Computed]) -> None:
        """Take an answer: to the store, to a second worker, or to be tried again."""
        of = answer.task.of
        suspected = isinstance(answer.error, WorkerDied) and self._crew.loses(of, answer.worker)
        self._crew.gives_back(of, answer.worker)
        if isinstance(of, Check):
            self._confirm(of, answer)
        elif answer.worker.address in self._suspects:
            self._under_way.discard(of)
        elif isinstance(answer.error, WorkerDied):
            self._under_way.discard(of)
            if not suspected:
                self._queue.put_back(of)
            elif not self._queue.try_again(of):
                (position,) = of.positions
                run = self._jobs[position].crashed(f"{of.deaths + of.spared + 1} workers died while they computed it; {answer.error}")
                self._finish(of, Computed(runs=[run], count=1))
            self._tell()
        elif answer.value is None:
            self._under_way.discard(of)
            what = " ".join(str(answer.error).split())[:300]
            self._error = self._error or EnvironmentFault(f"{answer.worker.address}: {type(answer.error).__name__}: {what}")
        elif not self._confirmations.hold(of, answer):
            self._finish(of, answer.value)

    def _confirm(self, check: Check, answer: Answer[Computed]) -> None:
        """Take a second worker's answer about a run."""
        held = check.held
        if not self._confirmations.settle(check, answer):
            self._error = self._error or self._disagreement(check, answer)
            self._suspects |= {held.first.worker.address, answer.worker.address}
            self._under_way -= {held.piece} | self._confirmations.discard(self._suspects)
        elif not held.left:
            self._keep(held)

    def _disagreement(self, check: Check, second: Answer[Computed]) -> EnvironmentFault:
        name, cell = self._jobs.asked(check.position)
        which = ", ".join([name, *(f"{key}: {value}" for key, value in cell.items())])
        what = f"{check.held.first.worker.address} and {second.worker.address} computed different results of the same run ({which})"
        return EnvironmentFault(f"{what}; expected the same. Do not trust what either has computed: a run's host.json names its worker")

    def _keep_unconfirmed(self, first: Worker | None = None, engines: Sequence[str] | None = None) -> None:
        """Keep the answers that wait for a second worker that does not come, see `Confirmations.give_up`."""
        for held in self._confirmations.give_up(first, engines):
            self._keep(held)

    def _keep(self, held: Held) -> None:
        if held.piece in self._under_way and held.first.value is not None:
            self._finish(held.piece, held.first.value)

    def _finish(self, piece: Piece, found: Computed) -> None:
        """Keep the answer about a piece."""
        uninterrupted(partial(self._kept.keep, found))
        if found.error is not None:
            self._error = self._error or found.error
        self._under_way.discard(piece)
        before = self._state
        self._state = replace(
            before,
            done=before.done + found.count,
            cost_done=before.cost_done + piece.cost,
            busy_s=before.busy_s + found.wall_s,
            packets=before.packets + found.packets,
            workers=self._cluster.workers,
        )
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(replace(self._state, running=tuple((piece.began, piece.cost) for piece in self._under_way)))


class _Kept:
    """Destination of the results."""

    def __init__(self, store: Store | None, form: Form) -> None:
        self._store, self.form = store, form
        self.unstored: dict[str, Run] = {}

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Raises `BadInput` if another process computes runs for the store: both would compute the same ones."""
        with ExitStack() as stack:
            if self._store is not None:
                try:
                    stack.enter_context(self._store.place.claimed(CLUSTER))
                except BlockingIOError:
                    what = f"{self._store.path}: another process has runs for it computed by a cluster"
                    raise BadInput(f"{what}; expected to be alone") from None
                if self._store.place.others(CLUSTER, PACK):
                    raise BadInput(f"{self._store.path}: another process computes runs for it; expected to be alone")
            yield

    def there(self, jobs: Jobs) -> Callable[[int], bool]:
        """Return a function that is true if the run at a position is stored."""
        store = self._store
        return lambda i: store is not None and not store.missing([jobs.key(i)])

    def join(self, stopped: Callable[[], bool], waits: bool = False) -> None:
        """Puts packs of batches together, unless something in the store is damaged. A fault is a warning.

        `waits`: until another process that packs the store has ended, such as the sweep before this one: it does not know these packs.
        """
        from dumbbell.results.storage.joining import join

        told = False
        while self._store is not None and not stopped():
            try:
                with suppress(DamagedRun), self._store.place.claimed(PACK):
                    uninterrupted(partial(join, self._store, stopped))
                return
            except BlockingIOError:
                if not waits:
                    return
                if not told:
                    told = True
                    warnings.warn(
                        f"{self._store.path}: all runs are computed; waiting until another process has packed what it found",
                        WorkerWarning,
                        stacklevel=2,
                    )
                time.sleep(_POLL_S)
            except DumbbellError as error:  # all runs are stored
                warnings.warn(f"packs stay small: {error}", WorkerWarning, stacklevel=2)
                return

    def keep(self, found: Computed) -> None:
        """Store the answer of a worker. It may be called again if it was interrupted."""
        self.unstored.update({run.key: run for run in found.runs})
        if self._store is not None:
            for name, files in found.packs:
                self._store.packs.add(name, files)
            for key, files, summary in found.folders:
                self._store.add(key, files, summary)


def refuse_real_time(engines: Iterable[str]) -> None:
    """Raises `BadInput` for an engine that has machines of its own."""
    for name in engines:
        if engine(name).in_real_time:
            raise BadInput(f"--cluster: the engine {name} runs on machines of its own; expected another engine, or no cluster")


def why_not(sources: Mapping[str, Sequence[str]], facts: Mapping[str, Any]) -> dict[str, str]:
    """Return by engine the reason why a worker with these facts cannot run it with these sources, without the engines that it can run."""
    if other := [f"its {name} is {facts.get(name)}, not {ours}" for name, ours in writers().items() if facts.get(name) != ours]:
        return dict.fromkeys(sources, f"{', '.join(other)}; expected the same, as what is stored depends on it")
    return dict(_differences(sources, facts.get("engines", {})))


def _differences(sources: Mapping[str, Sequence[str]], there: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, ours in sources.items():
        theirs = there.get(name, "is unknown there")
        if isinstance(theirs, str):
            yield name, theirs
        elif theirs != list(ours):
            shown = (",".join(each[:12] for each in listed) for listed in (theirs, ours))
            yield name, "its engine {} has the sources {}, not {}; expected the same build of dumbbell".format(name, *shown)
