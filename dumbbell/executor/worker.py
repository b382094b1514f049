"""A worker process: computes the jobs that it is sent, one after another, until the process that started it is gone."""

from __future__ import annotations

import os
import pickle
import threading
import time
from multiprocessing.connection import Connection
from typing import Any

from dumbbell.executor.base import produce

_LOOK_S = 0.5
"""Between looks at whether the process that started this one is still there."""


def work(descriptor: int) -> None:
    """Serves the connection of that file descriptor."""
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
    """The error, or what it says if an error of its kind cannot be made again from what it holds."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _end_with(parent: int) -> None:
    """Ends this process with its parent, in the middle of a run too."""
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os._exit(1)
