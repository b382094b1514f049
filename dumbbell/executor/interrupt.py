"""Ctrl-C while runs are computed: the first one is deferred, so that running jobs finish and are stored; a second one ends the process."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from dumbbell.errors import Interrupted

_SHOW_CURSOR = "\x1b[?25h\n"
"""Shows the cursor, which a progress bar hides."""

_interrupted = threading.Event()


def is_interrupted() -> bool:
    """Whether Ctrl-C was pressed within `deferred`."""
    return _interrupted.is_set()


@contextmanager
def deferred() -> Iterator[Callable[[], bool]]:
    """Within it Ctrl-C sets a flag instead of raising `KeyboardInterrupt`; gives a function that reads the flag.

    Without effect outside the main thread, which alone receives signals, and if the program has installed its own handler.
    """
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, _handle)
    try:
        yield is_interrupted if ours else lambda: False
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            _interrupted.clear()


def _handle(_number: int, _frame: FrameType | None) -> None:
    if is_interrupted():
        if sys.stderr.isatty():
            os.write(sys.stderr.fileno(), _SHOW_CURSOR.encode())
        os._exit(Interrupted.exit_status)
    _interrupted.set()
