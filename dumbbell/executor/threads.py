"""Runs in threads of this process: cheap to start, and the engines' work does not hold the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice

from dumbbell.executor.base import AnyJob, Executor, Finished, check_workers, produce


class Threads(Executor):
    """Several threads."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = check_workers(workers)

    def run(self, jobs: Iterable[AnyJob], stopped: Callable[[], bool] = lambda: False) -> Generator[Finished[AnyJob]]:
        """As every executor does. If the caller gives up, what is begun is waited for."""
        waiting = iter(jobs)
        running: set[Future[Finished[AnyJob]]] = set()
        with ThreadPoolExecutor(self.workers) as pool:

            def start() -> None:
                if not stopped():
                    running.update(pool.submit(produce, job) for job in islice(waiting, self.workers - len(running)))

            start()
            while running:
                ended, left = wait(running, return_when=FIRST_COMPLETED)
                running.intersection_update(left)
                start()  # before the caller is busy with what it is given
                while ended:
                    yield ended.pop().result()
