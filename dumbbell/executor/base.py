"""What every executor is: it is given jobs and gives back finished runs. It knows no engine, no scenario and no store."""

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
"""Runs at a time."""


class Job(Protocol):
    """A run that is prepared. Computing it depends on nothing but the job, changes nothing outside it, and can be done anywhere."""

    @property
    def key(self) -> str:
        """Its content hash."""

    def produce(self) -> Run:
        """Computes the run. May raise `BadInput` or `EnvironmentFault`."""


AnyJob = TypeVar("AnyJob", bound=Job)


@dataclass(frozen=True)
class Finished(Generic[AnyJob]):
    """What became of a job."""

    job: AnyJob
    run: Run | None = None
    error: Exception | None = None
    """In place of a run: what `produce` raised, or `WorkerDied`."""
    wall_s: float = 0.0
    """From the start of `produce` to its end."""
    cpu_s: float = 0.0
    """CPU seconds of the thread that called `produce`."""


class WorkerDied(Exception):
    """The process that computed a run ended in the middle of it."""


class Executor(ABC):
    """Computes runs. Made once, it may be used for several sets of jobs, one after another."""

    workers: int
    """Runs at a time."""

    @abstractmethod
    def run(self, jobs: Iterable[AnyJob], stopped: Callable[[], bool] = lambda: False) -> Generator[Finished[AnyJob]]:
        """Gives what becomes of every job, in any order; jobs are started in the order given.

        Args:
            jobs: Taken one by one, each when it can be started at once, so that at most `workers` are begun and not yet given back.
            stopped: Is asked before each job; once it is true no further job is taken, and those that are begun are given back.

        Raises `EnvironmentFault` if runs cannot be computed here at all. What a job raises is given back with it.
        """


def check_workers(workers: int | None) -> int:
    """The number of workers that is meant; None: one a processor. Raises `BadInput` if it is none."""
    if workers is None:
        return default_workers()
    if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= MOST_WORKERS:
        raise BadInput(f"workers is {workers!r}; expected a whole number from 1 to {MOST_WORKERS}")
    return workers


def default_workers() -> int:
    """The processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def produce(job: AnyJob) -> Finished[AnyJob]:
    """Does a job in this thread, and measures what it takes."""
    run, error = None, None
    wall, cpu = time.perf_counter(), time.thread_time()
    try:
        run = job.produce()
    except Exception as raised:
        error = raised
    return Finished(job, run, error, time.perf_counter() - wall, time.thread_time() - cpu)
