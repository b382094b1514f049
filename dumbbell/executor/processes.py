"""Runs in processes of their own: one that crashes, or that the system kills for its memory, takes no other with it."""

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
from dumbbell.executor.base import AnyJob, Executor, Finished, WorkerDied, check_workers

_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[2])
from dumbbell.executor.worker import work
work(int(sys.argv[1]))
"""
"""Of a worker. It does not import the caller's main module, as `multiprocessing` would: that need not be made for it."""
_STDERR = 2
"""Where what a worker prints goes: stdout is for what the command says."""


class Processes(Executor):
    """Several worker processes. Each is given one job at a time; one that dies is replaced, and its job fails with `WorkerDied`."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = check_workers(workers)

    def run(self, jobs: Iterable[AnyJob], stopped: Callable[[], bool] = lambda: False) -> Generator[Finished[AnyJob]]:
        """As every executor does. If the caller gives up, the workers are killed."""
        waiting = iter(jobs)
        idle: list[_Worker[AnyJob]] = []
        busy: dict[object, _Worker[AnyJob]] = {}

        def start() -> None:
            while len(busy) < self.workers and not stopped() and (job := next(waiting, None)) is not None:
                worker = idle.pop() if idle else _Worker()
                busy[worker.connection] = worker
                worker.begin(job)

        try:
            start()
            while busy:
                heard = [busy[ready] for ready in wait([worker.connection for worker in busy.values()])]
                ended = [worker for worker in heard if not worker.comes_up()]
                finished = [busy.pop(worker.connection).finish() for worker in ended]
                idle += [worker for worker in ended if worker.alive]
                start()  # before the caller is busy with what it is given
                while finished:
                    yield finished.pop()
        finally:
            for worker in (*idle, *busy.values()):
                worker.kill()


class _Worker(Generic[AnyJob]):
    """A process, and what it is at."""

    def __init__(self) -> None:
        """Starts it, without waiting for it to come up."""
        self.connection, theirs = Pipe()
        self._up = False
        self._job: AnyJob | None = None
        with theirs:
            command = [sys.executable, "-c", _PROGRAM, str(theirs.fileno()), json.dumps(sys.path)]
            # In a session of its own: Ctrl-C is for this process, which lets workers finish.
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=_STDERR, pass_fds=[theirs.fileno()], start_new_session=True
            )

    @property
    def alive(self) -> bool:
        """Whether it can be given another job."""
        return not self.connection.closed

    def comes_up(self) -> bool:
        """Whether what it says is that it has come up. Raises `EnvironmentFault` if it ended instead."""
        if self._up:
            return False
        try:
            self.connection.recv()
        except (EOFError, ConnectionResetError):
            raise EnvironmentFault(f"a worker process does not start: it {self._ending()}") from None
        self._up = True
        return True

    def begin(self, job: AnyJob) -> None:
        """Gives it a job. If it has died meanwhile, `finish` says so."""
        self._job = job
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send(job)

    def finish(self) -> Finished[AnyJob]:
        """Takes what it has made of its job."""
        assert self._job is not None  # begun
        job, self._job = self._job, None
        try:
            run, error, wall_s, cpu_s = self.connection.recv()
        except (EOFError, ConnectionResetError):
            return Finished(job, error=WorkerDied(f"the process that computed it {self._ending()}"))
        return Finished(job, run, error, wall_s, cpu_s)

    def kill(self) -> None:
        """Ends it, whatever it is at."""
        self._process.kill()
        self._ending()

    def _ending(self) -> str:
        """Waits for its end, and says how it ended."""
        self.connection.close()
        status = self._process.wait()
        return f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with exit status {status}"
