"""A worker process: computes the jobs that it receives, one after another, until its parent process has ended."""

from __future__ import annotations

import os
import pickle
import threading
import time
from multiprocessing.connection import Connection
from typing import Any

from dumbbell.executor.base import produce

_POLL_S = 0.5
"""Interval of checking whether the parent process still exists."""


def work(descriptor: int) -> None:
    """Receives jobs and sends outcomes over the connection with this file descriptor."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    connection: Connection[Any, Any] = Connection(descriptor)
    connection.send("ready")
    while True:
        try:
            job = connection.recv()
        except EOFError:
            return
        finished = produce(job)
        connection.send((finished.run, _sendable(finished.error), finished.wall_s, finished.cpu_s))


def _sendable(error: Exception | None) -> Exception | None:
    """The exception itself, or a `RuntimeError` with its message if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _end_with(parent: int) -> None:
    """Ends this process when its parent has ended, also in the middle of a run."""
    while os.getppid() == parent:
        time.sleep(_POLL_S)
    os._exit(1)
