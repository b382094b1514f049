"""Runs on their way through a cluster. One process hands out batches, the longest runs first, and alone writes to the store.

A batch whose worker died is computed again in halves, each run in a process of its own, which tells the run that kills from those that
were computed beside it. Each thousandth run is computed by two workers, and neither result is kept if they differ.
"""

from __future__ import annotations

import secrets
import shlex
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dumbbell.engines import engine
from dumbbell.engines.cluster.batch import Batch, Computed, Form, compute, halt, standing
from dumbbell.engines.sweep import MOST_KEPT, Jobs
from dumbbell.errors import BadInput, DumbbellError, EnvironmentFault
from dumbbell.executor import WorkerDied
from dumbbell.executor.cluster import Answer, Cluster, Task, Worker
from dumbbell.executor.interrupt import uninterrupted
from dumbbell.executor.progress_state import ProgressState

if TYPE_CHECKING:
    from dumbbell.engines.execute import Progress
    from dumbbell.results import Run, Store

CHECKED = 1000
"""Of so many runs one is computed by a second worker."""
_BATCH_S, _FIRST_S = 10.0, 1.0
"""What a batch takes, as far as it is known, and as long as it is not. A task costs dask some 15 ms, whatever it does."""
_SHARES = 3
"""The last batches are smaller: none is more than this part of what is left for each thread, so that workers end together."""
_MOST_BATCH = 2000
_LEAST_PACK = 10
"""Runs of a batch that are worth a pack."""
_TRIES = 3
"""Workers that may die of a run, or of a check, before it is given up."""
_CLAIM = "cluster"


@dataclass(eq=False)
class _Piece:
    """Runs of one engine that are handed out together."""

    positions: Sequence[int]
    cost: float
    deaths: int = 0
    began: float = 0.0
    unconfirmed: dict[int, str] = field(default_factory=dict)
    """Of runs that a second worker computes, what the first says."""


@dataclass(eq=False)
class _Check:
    """A run of a piece that is computed again."""

    position: int
    piece: _Piece
    first: Answer[Computed]
    deaths: int = 0


class ClusterSweep:
    """The runs that a store lacks, on the workers of a cluster."""

    def __init__(
        self,
        jobs: Jobs,
        todo: Sequence[int],
        store: Store | None,
        cluster: Cluster,
        progress: Progress | None = None,
        may_load: bool = False,
        repair: bool = False,
    ) -> None:
        """Raises `BadInput` for an engine that has machines of its own."""
        self._jobs, self._store, self._cluster, self._progress, self._may_load = jobs, store, cluster, progress, may_load
        self._form: Form = "memory" if store is None else "packs" if len(todo) > MOST_KEPT and not repair else "folders"
        order = sorted(todo, key=lambda i: -jobs.cpu_s(i))
        self._to_check = frozenset(order[CHECKED - 1 :: CHECKED])
        self._todo: dict[str, deque[int]] = {}
        for position in order:
            self._todo.setdefault(jobs.engine(position), deque()).append(position)
        for name in self._todo:
            if engine(name).in_real_time:
                raise BadInput(f"--cluster: the engine {name} runs on machines of its own; expected another engine, or no cluster")
        self._left_s = sum(map(jobs.cpu_s, todo))
        self._sources = {name: list(engine(name).sources()) for name in self._todo}
        self._again: deque[_Piece] = deque()
        self._checks: deque[_Check] = deque()
        self._under_way: set[_Piece] = set()
        self._state = ProgressState(total=len(todo), cost_total=self._left_s, workers=cluster.workers)
        self._unstored: dict[str, Run] = {}
        self._error: DumbbellError | None = None
        self._command, self._id = shlex.join(sys.argv), secrets.token_hex(8)

    def finish(self, interrupted: Callable[[], bool]) -> dict[str, Run]:
        """The runs that are not stored, by key; on an interrupt those that are finished.

        Raises what a run raised, after what is under way is kept, and as `Cluster.compute` does.
        """
        if not self._todo:
            return self._unstored
        with ExitStack() as stack:
            if self._store is not None:
                try:
                    stack.enter_context(self._store.place.claimed(_CLAIM))
                except BlockingIOError:
                    what = f"{self._store.path}: another process has runs for it computed by a cluster"
                    raise BadInput(f"{what}; expected to be alone") from None
            self._tell()
            answers = stack.enter_context(closing(self._cluster.compute(self, lambda: interrupted() or self._error is not None)))
            for answer in answers:
                self._take(answer)
            if self._error is None:
                self._settle_unconfirmed()  # of an interrupted sweep
        if self._error is not None:
            raise self._error
        return self._unstored

    @property
    def waiting(self) -> bool:
        """See `Source`."""
        return bool(self._again or self._checks or any(self._todo.values()))

    @property
    def question(self) -> Task[Any]:
        """See `Source`."""
        return Task(standing, tuple(self._sources))

    @property
    def halting(self) -> Task[Any]:
        """See `Source`."""
        return Task(halt, self._id)

    def refusal(self, worker: Worker) -> str:
        """See `Source`: of a worker that can run none of the engines as they are here."""
        able = self._able(worker)
        return "" if able else "; ".join(why_not(self._sources, worker.facts).values())

    def _able(self, worker: Worker) -> list[str]:
        """The engines that a worker can run."""
        return [name for name in self._sources if name not in why_not(self._sources, worker.facts)]

    def next(self, worker: Worker, alone: bool) -> Task[Computed] | None:
        """See `Source`."""
        able = self._able(worker)
        for check in self._checks:
            if check.first.worker.address != worker.address and self._jobs.engine(check.position) in able:
                self._checks.remove(check)
                return self._task(Batch(self._jobs.part([check.position]), (self._jobs.key(check.position),), "nothing"), check)
        piece = self._piece(able)
        if piece is None:
            if alone:
                self._settle_unconfirmed()  # there is nobody else to ask
            return None
        piece.began = time.monotonic()
        self._under_way.add(piece)
        self._tell()
        form: Form = "folders" if self._form == "packs" and len(piece.positions) < _LEAST_PACK else self._form
        keys = tuple(self._jobs.key(position) for position in sorted(piece.positions))
        return self._task(Batch(self._jobs.part(piece.positions), keys, form, apart=piece.deaths > 0), piece)

    def _task(self, batch: Batch, of: _Piece | _Check) -> Task[Computed]:
        return Task(compute, replace(batch, sweep=self._id, command=self._command, may_load=self._may_load), of)

    def _piece(self, able: Sequence[str]) -> _Piece | None:
        """The runs that come next for a worker that can run these engines."""
        for piece in self._again:
            if self._jobs.engine(piece.positions[0]) in able:
                self._again.remove(piece)
                return piece
        for name in able:
            if waiting := self._todo[name]:
                return self._begin(waiting)
        return None

    def _begin(self, waiting: deque[int]) -> _Piece:
        """Takes runs for about the time of a batch, at least one."""
        done = self._state
        pace = done.busy_s / done.cost_done if done.cost_done and done.busy_s else 0.0
        most = _BATCH_S / pace if pace else _FIRST_S
        share = max(min(most, self._left_s / (_SHARES * max(self._cluster.workers, 1))), _FIRST_S / max(pace, 1.0))
        positions, cost = [waiting.popleft()], 0.0
        cost = self._jobs.cpu_s(positions[0])
        while waiting and len(positions) < _MOST_BATCH and cost + self._jobs.cpu_s(waiting[0]) <= share:
            positions.append(waiting.popleft())
            cost += self._jobs.cpu_s(positions[-1])
        self._left_s -= cost
        return _Piece(positions, cost)

    def _take(self, answer: Answer[Computed]) -> None:
        """Takes what came back: to the store, to a second worker, or to be tried again."""
        of = answer.task.of
        if isinstance(of, _Check):
            self._confirm(of, answer)
            return
        if isinstance(answer.error, WorkerDied):
            self._try_again(of, str(answer.error))
            return
        if answer.error is not None or answer.value is None:
            self._under_way.discard(of)
            what = " ".join(str(answer.error).split())[:300]
            self._error = self._error or EnvironmentFault(f"{answer.worker.address}: {type(answer.error).__name__}: {what}")
            return
        of.unconfirmed = {
            position: answer.value.seals[key]
            for position in of.positions
            if position in self._to_check and (key := self._jobs.key(position)) in answer.value.seals
        }
        self._checks.extend(_Check(position, of, answer) for position in of.unconfirmed)
        if not of.unconfirmed:
            self._keep(of, answer)

    def _confirm(self, check: _Check, answer: Answer[Computed]) -> None:
        """Compares what two workers say of a run."""
        seal = None if answer.value is None else answer.value.seals.get(self._jobs.key(check.position))
        if seal is None and check.deaths + 1 < _TRIES:
            check.deaths += 1
            self._checks.append(check)
            return
        first = check.piece.unconfirmed.pop(check.position)
        if seal is not None and seal != first:
            self._error = self._error or self._disagreement(check, answer)
            self._under_way.discard(check.piece)
        elif not check.piece.unconfirmed and check.piece in self._under_way:
            self._keep(check.piece, check.first)

    def _disagreement(self, check: _Check, second: Answer[Computed]) -> EnvironmentFault:
        name, cell = self._jobs.asked(check.position)
        which = ", ".join([name, *(f"{key}: {value}" for key, value in cell.items())])
        what = f"{check.first.worker.address} and {second.worker.address} computed different results of the same run ({which})"
        return EnvironmentFault(f"{what}; expected the same. What these two have computed is not to be trusted (host.json names machines)")

    def _settle_unconfirmed(self) -> None:
        """Keeps what waits for a second worker that does not come."""
        while self._checks:
            check = self._checks.popleft()
            check.piece.unconfirmed.pop(check.position)
            if not check.piece.unconfirmed and check.piece in self._under_way:
                self._keep(check.piece, check.first)

    def _try_again(self, piece: _Piece, how: str) -> None:
        """A worker died at these runs: they are tried again, but for one that was alone too often."""
        self._under_way.discard(piece)
        deaths = piece.deaths + 1
        if len(piece.positions) == 1 and deaths >= _TRIES:
            (position,) = piece.positions
            run = self._jobs[position].crashed(f"{deaths} workers died while they computed it; {how}")
            self._finish(piece, Computed(runs=[run], count=1))
            return
        middle = (len(piece.positions) + 1) // 2
        for part in filter(None, (piece.positions[:middle], piece.positions[middle:])):
            self._again.append(_Piece(part, sum(map(self._jobs.cpu_s, part)), deaths))
        self._tell()

    def _keep(self, piece: _Piece, answer: Answer[Computed]) -> None:
        """Stores what a worker computed."""
        found = answer.value
        assert found is not None  # or it would not be kept
        uninterrupted(partial(self._store_all, found))
        if found.error is not None:
            self._error = self._error or found.error
        self._under_way.discard(piece)
        self._finish(piece, found)

    def _store_all(self, found: Computed) -> None:
        from dumbbell.results.packing import add_pack

        if self._store is not None:
            for name, files in found.packs:
                add_pack(self._store, name, files)
            for key, files, summary in found.folders:
                self._store.add(key, files, summary)

    def _finish(self, piece: _Piece, found: Computed) -> None:
        self._unstored.update({run.key: run for run in found.runs})
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


def why_not(sources: Mapping[str, Sequence[str]], facts: Mapping[str, Any]) -> dict[str, str]:
    """By name, why a worker with these facts cannot run engines with these sources; nothing of those that it can."""
    return dict(_differences(sources, facts.get("engines", {})))


def _differences(sources: Mapping[str, Sequence[str]], there: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, ours in sources.items():
        theirs = there.get(name, "is unknown there")
        if isinstance(theirs, str):
            yield name, theirs
        elif theirs != list(ours):
            shown = (",".join(each[:12] for each in listed) for listed in (theirs, ours))
            yield name, "its engine {} has the sources {}, not {}; expected the same build of dumbbell".format(name, *shown)
