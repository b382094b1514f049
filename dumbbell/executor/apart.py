"""Calls a function in a process of its own, if it may crash or never return."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from dumbbell.executor.base import WorkerDied
from dumbbell.executor.interrupt import Aborted, abortable, is_interrupted

_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[2])
from dumbbell.executor.apart import answer
answer(int(sys.argv[1]))
"""
"""Program of the process. It imports as little as it can, because it runs again for each call."""
_STDERR = 2
WALL_PER_CPU = 10
"""Wall time that a call may take for each second of CPU time that it may: it shares the machine with others."""


def call(function: str, *arguments: Any, cpu_s: int) -> tuple[Any, float]:
    """The value of `MODULE:NAME`, called with `arguments`, and the CPU seconds that it took.

    The arguments and the value can be pickled; the function raises nothing. Raises `WorkerDied` if the process ends before it, or if it
    takes more than `cpu_s` seconds of CPU time (or ten times that of wall time), and `Aborted` if the user interrupts.
    """
    connection, other = Pipe()
    with connection:
        with other:
            command = [sys.executable, "-c", _PROGRAM, str(other.fileno()), json.dumps(sys.path)]
            # In a session of its own, so that Ctrl-C reaches only this process, which kills it.
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=_STDERR, pass_fds=[other.fileno()], start_new_session=True)
        try:
            with abortable(process.kill), suppress(BrokenPipeError, ConnectionResetError):
                connection.send((function, arguments, cpu_s))
                if not connection.poll(WALL_PER_CPU * cpu_s):
                    raise WorkerDied(f"the process that computed it did not end within {WALL_PER_CPU * cpu_s} s")
            return connection.recv()  # type: ignore[no-any-return]
        except (EOFError, ConnectionResetError):
            if is_interrupted():
                raise Aborted from None
            raise WorkerDied(_ending(process.wait(), cpu_s)) from None
        finally:
            process.kill()
            process.wait()


def _ending(status: int, cpu_s: int) -> str:
    """Return how a process ended that gave no answer."""
    if status == -signal.SIGXCPU:
        return f"the process that computed it did not end within {cpu_s} s of CPU time"
    how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with exit status {status}"
    return f"the process that computed it {how}"


def answer(descriptor: int) -> None:
    """Receives a call over the connection with this file descriptor, and sends the outcome."""
    connection: Connection[Any, Any] = Connection(descriptor)
    function, arguments, cpu_s = connection.recv()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    threading.Thread(target=_end_with_caller, args=(connection,), daemon=True).start()
    module, _, name = function.partition(":")
    value = getattr(import_module(module), name)(*arguments)
    connection.send((value, time.process_time()))


def _end_with_caller(connection: Connection[Any, Any]) -> None:
    """Ends this process when the other end of the connection is closed, as it is when the caller has ended: nothing more is sent to it."""
    import os

    connection.poll(None)
    os._exit(1)
