"""The interface of executors: they take jobs and yield finished runs. An executor knows no engine, no scenario and no store."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from dumbbell.errors import BadInput

if TYPE_CHECKING:
    from dumbbell.results import Run

MOST_WORKERS = 1000
"""Upper bound of runs at a time."""


class Job(Protocol):
    """A prepared run. Computing it depends only on the job and has no side effects, so any thread, process or machine can do it."""

    @property
    def key(self) -> str:
        """The content hash under which the run is stored."""

    def produce(self) -> Run:
        """Computes the run. May raise `BadInput` or `EnvironmentFault`."""


AnyJob = TypeVar("AnyJob", bound=Job)


@dataclass(frozen=True)
class Finished(Generic[AnyJob]):
    """The outcome of a job: a run or an error."""

    job: AnyJob
    run: Run | None = None
    error: Exception | None = None
    """Set if there is no run: the exception that `produce` raised, or `WorkerDied`."""
    wall_s: float = 0.0
    """Wall time of `produce`, seconds."""
    cpu_s: float = 0.0
    """CPU time of the thread that called `produce`, seconds."""


class WorkerDied(Exception):
    """The process that was computing a run ended before the run did."""


class Executor(ABC):
    """Computes runs. One executor may be used for several sets of jobs, one after another."""

    workers: int
    """Number of runs computed at a time."""


class Local(Executor):
    """Computes runs on this machine, each as a job of its own."""

    @abstractmethod
    def run(self, jobs: Iterable[AnyJob], stopped: Callable[[], bool] = lambda: False) -> Generator[Finished[AnyJob]]:
        """Yields the outcome of every job, in any order; jobs are started in the order given.

        Args:
            jobs: Consumed lazily: a job is taken only when a worker is free to start it.
            stopped: Called before each job; once it returns true no further job is taken, and the outcomes of the running ones are yielded.

        Raises `EnvironmentFault` if runs cannot be computed here at all. An exception of a job is part of its outcome.
        """


def check_workers(workers: int | None) -> int:
    """The number of workers; None means one per processor. Raises `BadInput` if it is not a whole number in range."""
    if workers is None:
        return default_workers()
    if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= MOST_WORKERS:
        raise BadInput(f"workers is {workers!r}; expected a whole number from 1 to {MOST_WORKERS}")
    return workers


def default_workers() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def produce(job: AnyJob) -> Finished[AnyJob]:
    """Computes a job in this thread and measures its wall and CPU time."""
    run, error = None, None
    wall, cpu = time.perf_counter(), time.thread_time()
    try:
        run = job.produce()
    except Exception as raised:
        error = raised
    return Finished(job, run, error, time.perf_counter() - wall, time.thread_time() - cpu)
