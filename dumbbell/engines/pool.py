"""Runs jobs on several threads; an engine's native code releases the interpreter."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from dumbbell.errors import Interrupted

Done = TypeVar("Done")


def default_workers() -> int:
    """The processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_parallel(jobs: Sequence[Callable[[], Done]], workers: int) -> Iterator[tuple[int, Done]]:
    """Yields (index of the job, what it returned) as jobs end; jobs start in order.

    The first job that raises ends it all: what runs is let finish, what waits is dropped, the exception is raised. The same on
    Ctrl-C, which raises `Interrupted`; a second Ctrl-C leaves the process at once.
    """
    executor = ThreadPoolExecutor(max_workers=max(1, min(workers, len(jobs))))
    try:
        futures: dict[Future[Done], int] = {executor.submit(job): i for i, job in enumerate(jobs)}
        waiting = set(futures)
        while waiting:
            ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in sorted(ended, key=futures.__getitem__):
                yield futures[future], future.result()
    except KeyboardInterrupt:
        raise Interrupted("interrupted") from None
    finally:
        try:
            executor.shutdown(wait=True, cancel_futures=True)
        except KeyboardInterrupt:
            os._exit(Interrupted.exit_status)
