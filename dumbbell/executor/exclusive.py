"""One run at a time on the whole machine: for engines that need a resource alone, such as a testbed, and for measurements of time."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from dumbbell.errors import EnvironmentFault
from dumbbell.executor.base import AnyJob, Finished, Local, produce

_POLL_S = 0.1
"""Interval of polling the lock."""


class Exclusive(Local):
    """Computes runs in a thread, each while it holds the lock file that all processes sharing the resource use. The caller's own thread
    only waits, so that Ctrl-C reaches it.

    The lock is released between runs, so that two sweeps take turns; the kernel releases it when a process dies.
    """

    workers = 1

    def __init__(self, lock: Path) -> None:
        self._lock = lock

    def run(self, jobs: Iterable[AnyJob], stopped: Callable[[], bool] = lambda: False) -> Generator[Finished[AnyJob]]:
        """See `Local.run`. Raises `EnvironmentFault` if the lock file cannot be opened."""
        waiting = iter(jobs)
        with ThreadPoolExecutor(1) as thread:
            while True:
                with self._lock_held(stopped):
                    job = None if stopped() else next(waiting, None)
                    if job is None:
                        return
                    finished = thread.submit(produce, job).result()
                yield finished

    @contextmanager
    def _lock_held(self, stopped: Callable[[], bool]) -> Iterator[None]:
        """Holds the lock; returns without it if `stopped` became true while waiting."""
        try:
            self._lock.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise EnvironmentFault(f"{self._lock}: cannot be locked ({error.strerror}); expected a file that can be written") from None
        try:
            while not stopped() and not _try_lock(descriptor):
                time.sleep(_POLL_S)
            yield
        finally:
            os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
