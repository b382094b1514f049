"""One run at a time, and nobody else's beside it: for what has only one of a thing, such as a testbed, or measures time."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dumbbell.errors import EnvironmentFault
from dumbbell.executor.base import AnyJob, Executor, Finished, produce

_LOOK_S = 0.1
"""Between looks at whether the lock is free."""


class Exclusive(Executor):
    """Runs in the caller's thread, each while it holds a lock: a file that all processes which share the thing agree on.

    The lock is let go between runs, so that two sweeps take turns; the kernel lets it go when a process dies.
    """

    workers = 1

    def __init__(self, lock: Path) -> None:
        self._lock = lock

    def run(self, jobs: Iterable[AnyJob], stopped: Callable[[], bool] = lambda: False) -> Generator[Finished[AnyJob]]:
        """As every executor does. Raises `EnvironmentFault` if there can be no such lock."""
        waiting = iter(jobs)
        while True:
            with self._held(stopped):
                job = None if stopped() else next(waiting, None)
                if job is None:
                    return
                finished = produce(job)
            yield finished

    @contextmanager
    def _held(self, stopped: Callable[[], bool]) -> Iterator[None]:
        """Holds the lock, unless the wait for it was stopped."""
        try:
            self._lock.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise EnvironmentFault(f"{self._lock}: cannot be locked ({error.strerror}); expected a file that can be written") from None
        try:
            while not stopped() and not _taken(descriptor):
                time.sleep(_LOOK_S)
            yield
        finally:
            os.close(descriptor)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
