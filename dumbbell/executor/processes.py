"""Runs in separate processes: one that crashes, or that the system kills for its memory, does not affect the others."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import wait
from typing import Generic

from dumbbell.errors import EnvironmentFault
from dumbbell.executor.base import AnyJob, Finished, Local, WorkerDied, check_workers
from dumbbell.executor.interrupt import Aborted, abortable, is_interrupted

_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[2])
from dumbbell.executor.worker import work
work(int(sys.argv[1]))
"""
"""Program of a worker. Unlike `multiprocessing` it does not import the caller's main module, which may not be safe to import."""
_STDERR = 2
"""Workers print to stderr, because stdout is for the command's output."""


class Processes(Local):
    """Several worker processes. Each computes one job at a time; one that dies is replaced, and its job fails with `WorkerDied`."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = check_workers(workers)

    def run(self, jobs: Iterable[AnyJob], stopped: Callable[[], bool] = lambda: False) -> Generator[Finished[AnyJob]]:
        """See `Local.run`. If the caller closes the generator early, the workers are killed."""
        waiting = iter(jobs)
        idle: list[_Worker[AnyJob]] = []
        busy: dict[object, _Worker[AnyJob]] = {}

        def start() -> None:
            while len(busy) < self.workers and not stopped() and (job := next(waiting, None)) is not None:
                worker = idle.pop() if idle else _Worker()
                busy[worker.connection] = worker
                worker.begin(job)

        def kill_busy() -> None:
            for worker in tuple(busy.values()):
                worker.kill_process()

        try:
            start()
            while busy:
                with abortable(kill_busy):
                    reported = [busy[ready] for ready in wait([worker.connection for worker in busy.values()])]
                ended = [worker for worker in reported if not worker.became_ready()]
                finished = [busy.pop(worker.connection).finish() for worker in ended]
                idle += [worker for worker in ended if worker.alive]
                start()  # before yielding, so that workers compute while the caller handles the outcome
                while finished:
                    yield finished.pop()
        finally:
            for worker in (*idle, *busy.values()):
                worker.kill()


class _Worker(Generic[AnyJob]):
    """A worker process and its current job."""

    def __init__(self) -> None:
        """Starts the process without waiting until it is ready."""
        self.connection, other = Pipe()
        self._ready = False
        self._job: AnyJob | None = None
        with other:
            command = [sys.executable, "-c", _PROGRAM, str(other.fileno()), json.dumps(sys.path)]
            # In a session of its own, so that Ctrl-C reaches only this process, which kills workers.
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=_STDERR, pass_fds=[other.fileno()], start_new_session=True
            )

    @property
    def alive(self) -> bool:
        """True if it can take another job."""
        return not self.connection.closed

    def became_ready(self) -> bool:
        """True if the worker says that it is ready, False if it returns the outcome of a job.

        Raises `EnvironmentFault` if the worker ended instead. `finish` reports a worker that was killed for an interrupt.
        """
        if self._ready:
            return False
        try:
            self.connection.recv()
        except (EOFError, ConnectionResetError):
            if is_interrupted():
                return False
            raise EnvironmentFault(f"a worker process does not start: it {self._wait_and_describe()}") from None
        self._ready = True
        return True

    def begin(self, job: AnyJob) -> None:
        """Sends it a job. If it has died meanwhile, `finish` reports that."""
        self._job = job
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send(job)

    def finish(self) -> Finished[AnyJob]:
        """Receives the outcome of its job."""
        assert self._job is not None  # begun
        job, self._job = self._job, None
        try:
            run, error, wall_s, cpu_s = self.connection.recv()
        except (EOFError, ConnectionResetError):
            how = self._wait_and_describe()
            return Finished(job, error=Aborted() if is_interrupted() else WorkerDied(f"the process that computed it {how}"))
        return Finished(job, run, error, wall_s, cpu_s)

    def kill(self) -> None:
        """Kills the process, also in the middle of a job."""
        self.kill_process()
        self._wait_and_describe()

    def kill_process(self) -> None:
        """Kills the process without waiting for its end. The thread that waits for it hears of it by the connection."""
        self._process.kill()

    def _wait_and_describe(self) -> str:
        """Waits until the process has ended, and describes how: signal or exit status."""
        self.connection.close()
        status = self._process.wait()
        return f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with exit status {status}"
