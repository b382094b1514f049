"""Hands tasks to workers of dask and takes the answers, or says that a worker has died with its task.

Each task is sent to a worker that was chosen here, as many to each as it has threads. So it is known which task a worker had that died, and
dask reruns it nowhere else: dask's own way is to run a task on four workers before it gives up, even if the task kills them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from dumbbell.errors import EnvironmentFault, WorkerWarning
from dumbbell.executor.base import WorkerDied

if TYPE_CHECKING:
    from distributed import Client, Future

Value = TypeVar("Value")
Value_co = TypeVar("Value_co", covariant=True)
_LOOK_S = 1.0
"""Between looks at which workers there are."""
_PATIENCE_S = 30.0
"""Time that tasks which have begun may go on after Ctrl-C."""
_FETCH_S = (5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0)
"""Timeouts of the attempts to fetch a result from a worker that is still there, each longer than the one before."""
_ANSWER_S = 30.0
"""Time that a worker has to say what it is. It answers once it has a thread free."""
_ABSENT_S = 60.0
"""Time that a worker that has gone has to come back, before the tasks that only it could do are given up."""


@dataclass(frozen=True, eq=False)
class Task(Generic[Value_co]):
    """A call on a worker."""

    function: Callable[..., Value_co]
    """A function of a module that workers can import."""
    argument: Any
    """Can be pickled."""
    of: Any = None
    """Name that the task's source gives it; not sent."""


@dataclass(eq=False)
class Worker:
    """A process that computes, as it has been asked."""

    address: str
    threads: int
    facts: Any = None
    """The worker's facts about itself."""
    refused: str = ""
    """Reason why it is not used."""
    tasks: int = 0
    """Tasks that it works on."""
    since: float = field(default_factory=time.monotonic)
    """Time at which it was first seen."""


@dataclass(frozen=True)
class Answer(Generic[Value_co]):
    """The answer to a task."""

    task: Task[Value_co]
    worker: Worker
    value: Value_co | None = None
    error: Exception | None = None
    """`WorkerDied`, or what the call raised."""


class TaskSource(Protocol[Value_co]):
    """A source of tasks."""

    @property
    def waiting(self) -> bool:
        """True if there are tasks that no worker has."""

    @property
    def question(self) -> Task[Any]:
        """Asked of each worker before it is used."""

    @property
    def halting(self) -> Task[Any]:
        """Called on each worker once no further task is handed out: lets the tasks under way end early, with their results so far."""

    def deserted(self) -> None:
        """Told when no worker that exists takes a task, nothing is under way, and nobody is waited for."""

    def refusal(self, worker: Worker) -> str:
        """Return the reason why a worker, whose facts are known, is not to be used; empty if it is."""

    def lack(self, worker: Worker) -> str:
        """Return the reason why a worker that is used can take none of the remaining tasks."""

    def joins(self, worker: Worker) -> None:
        """Note a worker that may take tasks some time: first while its `facts` are None, and again once it has said what it is."""

    def leaves(self, worker: Worker) -> None:
        """Told of a worker that will take no more."""

    def next(self, worker: Worker, alone: bool = False) -> Task[Value_co] | None:
        """A task for this worker, which is free; None if there is none for it. `alone`: none of the others will take one."""


@dataclass
class _Sent:
    task: Task[Any]
    worker: Worker


class Dispatch(Generic[Value]):
    """The tasks of one source on the workers of one scheduler."""

    def __init__(
        self, client: Client, place: str, source: TaskSource[Value], stopped: Callable[[], bool], told: set[str], expects_more: bool
    ) -> None:
        """`told`: messages that were printed before, and are not printed again. `expects_more`: workers may come that are not there at the
        start."""
        self._expects_more = expects_more
        self._client, self._place, self._source, self._stopped, self._told = client, place, source, stopped, told
        self.workers: dict[str, Worker] = {}
        """Workers that are present, by address."""
        self.threads = 0
        """Threads of the workers that are used."""
        self._free: dict[str, Worker] = {}
        """Workers that are used and may have a free thread."""
        self._sent: dict[Future, _Sent] = {}
        self._asked: dict[Future, Worker] = {}
        self._done: SimpleQueue[Future] = SimpleQueue()
        self._looked, self._changed = float("-inf"), time.monotonic()
        """Time of the last question which workers there are, and of the last change of the answer."""
        self._until = float("inf")

    @property
    def usable(self) -> list[Worker]:
        """The workers that are used."""
        return list(filter(_is_used, self.workers.values()))

    @property
    def _answering(self) -> list[Worker]:
        """Return the workers that have just been asked. A worker that is busy with other things may take hours to answer, and is used once
        it has."""
        return list(filter(self._is_answering, self._asked.values()))

    @staticmethod
    def _is_answering(worker: Worker) -> bool:
        return time.monotonic() < worker.since + _ANSWER_S

    def answers(self) -> Generator[Answer[Value]]:
        """See `Cluster.compute`. If the caller closes the generator early, the tasks under way are given up."""
        try:
            while True:
                yield from self._look()
                self._hand_out()
                if self._finished():
                    return
                if (answer := self._received()) is not None:
                    yield answer
        finally:
            self._cancel(*self._sent, *self._asked)

    def ask_all(self) -> None:
        """Wait until each worker that exists has said what it is, or has had the time for it."""
        deadline = time.monotonic() + _ANSWER_S
        try:
            while self._looked == float("-inf") or (self._asked and time.monotonic() < deadline):
                for _ in self._look():
                    pass
                self._received()
            for worker in self._asked.values():
                worker.refused = f"is busy: it has not answered within {_ANSWER_S:.0f} s"
        finally:
            self._cancel(*self._asked)

    def _cancel(self, *futures: Future) -> None:
        """Give tasks up, as far as the scheduler can still be reached."""
        for future in futures:
            with suppress(Exception):
                future.cancel()

    def _look(self) -> Generator[Answer[Value]]:
        """Ask which workers there are. Yield the tasks of workers that have gone, and ask new workers what they are."""
        if time.monotonic() - self._looked < _LOOK_S:
            return
        there = self._threads()
        self._looked = time.monotonic()
        for future in [future for future, worker in self._asked.items() if worker.address not in there]:
            del self._asked[future]
            self._cancel(future)
        gone = [worker for address, worker in self.workers.items() if address not in there]
        for worker in gone:
            self._forget(worker)
            self._changed, self._expects_more = time.monotonic(), True
        for future, sent in list(self._sent.items()):
            if sent.worker.address not in there and future.status != "finished":
                yield self._lost(future, _gone(sent.worker))
        for address, threads in there.items():
            if address not in self.workers:
                worker = self.workers[address] = Worker(address, threads)
                self._changed = worker.since
                self._asked[self._send(self._source.question, worker)] = worker
                self._source.joins(worker)
        for worker in self._asked.values():
            if not self._is_answering(worker):
                self._source.leaves(worker)  # until it answers

    def _threads(self) -> Mapping[str, int]:
        """Return the threads of each worker, by address. Raises `EnvironmentFault` if the scheduler does not answer."""
        try:
            return dict(self._client.nthreads())
        except Exception as error:  # dask has a dozen kinds for it, some of them private
            what = f"{self._place}: the scheduler does not answer any more ({' '.join(str(error).split())[:160]})"
            raise EnvironmentFault(f"{what}; what is finished is kept, the same command goes on from there") from None

    def _send(self, task: Task[Any], worker: Worker) -> Future:
        future = self._client.submit(
            task.function, task.argument, workers=[worker.address], allow_other_workers=False, pure=False, retries=0
        )
        future.add_done_callback(self._done.put)
        return future

    def _hand_out(self, stuck: bool = False) -> None:
        """Gives each worker as many tasks as it has threads. `stuck`: none is at any, and none took one.

        Only those are looked at that may have a thread free: an answer costs the same however many workers are at work.
        """
        for worker in list(self._free.values()):
            while worker.tasks < worker.threads and not self._stopped():
                task = self._source.next(worker, stuck)
                if task is None:
                    break
                worker.tasks += 1
                self._sent[self._send(task, worker)] = _Sent(task, worker)
            else:
                if worker.tasks >= worker.threads:
                    del self._free[worker.address]

    def _forget(self, worker: Worker) -> None:
        """Takes a worker out that has gone."""
        self._source.leaves(worker)
        self._free.pop(worker.address, None)
        if self.workers.pop(worker.address, None) is worker and _is_used(worker):
            self.threads -= worker.threads

    def _finished(self) -> bool:
        """True if nothing is left to do. Raises `EnvironmentFault` if no present worker can do what is left."""
        if self._stopped():
            if self._until == float("inf"):
                self._until = time.monotonic() + _PATIENCE_S
                self._halt()
            return not self._sent or time.monotonic() > self._until
        if self._sent or not self._source.waiting:
            return not self._sent
        if self._answering:
            return False
        self._hand_out(stuck=True)
        is_late = time.monotonic() > self._changed + (_ABSENT_S if self._expects_more else 0.0)
        if is_late and not self._sent:
            self._source.deserted()
        if self._sent or self._stopped() or not self._source.waiting:  # the source may have found an error in an answer that it kept
            return not self._sent
        if is_late and self.workers and not self._asked:
            raise EnvironmentFault(f"{self._place}: no worker can compute what is left: {self._why_not()}")
        self._say(f"{self._place}: waiting for workers")
        return False

    def _why_not(self) -> str:
        """Return why no worker that exists can do the remaining tasks, in a line: each reason with its workers."""
        reasons: dict[str, list[str]] = {}
        for worker in self.workers.values():
            reasons.setdefault(worker.refused or self._source.lack(worker), []).append(worker.address)
        whose = {what: listed[0] + (f" and {len(listed) - 1} more" if len(listed) > 1 else "") for what, listed in reasons.items()}
        return "; ".join(f"{who}: {what}" for what, who in whose.items())

    def _say(self, what: str) -> None:
        if what not in self._told:
            self._told.add(what)
            warnings.warn(what, WorkerWarning, stacklevel=2)

    def _halt(self) -> None:
        task = self._source.halting
        if busy := [worker.address for worker in self.usable if worker.tasks]:
            with suppress(Exception):  # a scheduler that has gone is found out soon
                self._client.run(task.function, task.argument, workers=busy, on_error="ignore")

    def _received(self) -> Answer[Value] | None:
        """The answer that comes next, if one comes soon."""
        try:
            future = self._done.get(timeout=_LOOK_S / 2)
        except Empty:
            return None
        if (worker := self._asked.pop(future, None)) is not None:
            self._learn(future, worker)
        if future not in self._sent:
            return None
        sent = self._sent[future]
        value, error = self._fetched(future, sent.worker)
        if isinstance(error, WorkerDied):
            return self._lost(future, str(error))
        return self._answer(future, value, error)

    def _fetched(self, future: Future, worker: Worker) -> tuple[Any, Exception | None]:
        """Return the result of a call, or its exception; `WorkerDied` if neither can be had any more."""
        from distributed import KilledWorker

        if future.status == "error":
            error = future.exception(timeout=_FETCH_S[0])
            return None, WorkerDied(_gone(worker)) if error is None or isinstance(error, KilledWorker) else error
        for attempt_s in _FETCH_S:
            if future.status != "finished":  # its worker took the result with it
                break
            try:
                return future.result(timeout=attempt_s), None
            except Exception as failure:  # of the way here: the call has ended well
                if worker.address not in self._threads() or time.monotonic() > self._until:
                    return None, WorkerDied(f"{_gone(worker)} ({type(failure).__name__})")
        return None, WorkerDied(_gone(worker))

    def _learn(self, future: Future, worker: Worker) -> None:
        """Take a worker's facts about itself."""
        facts, error = self._fetched(future, worker)
        if isinstance(error, WorkerDied):
            self._forget(worker)  # if it is still there, it is asked again
            return
        worker.facts = facts or {}
        if error is not None:
            worker.refused = f"does not answer ({type(error).__name__}: {' '.join(str(error).split())[:160]})"
        worker.refused = worker.refused or self._source.refusal(worker)
        if worker.refused:
            self._say(f"{worker.address} is not used: {worker.refused}")
            self._source.leaves(worker)
        else:
            self._source.joins(worker)
            self.threads += worker.threads
            self._free[worker.address] = worker
            self._told.discard(f"{self._place}: waiting for workers")

    def _lost(self, future: Future, how: str) -> Answer[Value]:
        self._cancel(future)
        return self._answer(future, error=WorkerDied(how))

    def _answer(self, future: Future, value: Any = None, error: Exception | None = None) -> Answer[Value]:
        sent = self._sent.pop(future)
        sent.worker.tasks -= 1
        if self.workers.get(sent.worker.address) is sent.worker:
            self._free[sent.worker.address] = sent.worker
        return Answer(sent.task, sent.worker, value, error)


def _is_used(worker: Worker) -> bool:
    return worker.facts is not None and not worker.refused


def _gone(worker: Worker) -> str:
    return f"the worker that computed it, {worker.address}, has gone"
