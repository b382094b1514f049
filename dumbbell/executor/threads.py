"""Runs in threads of this process: cheap to start, and engines release the interpreter lock while they compute."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice

from dumbbell.executor.base import AnyJob, Finished, Local, check_workers, produce


class Threads(Local):
    """A pool of threads."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = check_workers(workers)

    def run(self, jobs: Iterable[AnyJob], stopped: Callable[[], bool] = lambda: False) -> Generator[Finished[AnyJob]]:
        """See `Local.run`. If the caller closes the generator early, it waits for the running jobs."""
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
                start()  # before yielding, so that threads compute while the caller handles the outcome
                while ended:
                    yield ended.pop().result()
