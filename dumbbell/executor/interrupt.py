"""Ctrl-C while runs are computed: the first is noted, so that what is finished can be kept; a second one leaves the process at once."""

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
"""A progress bar hides it."""

_noted = threading.Event()


def noted() -> bool:
    """Whether Ctrl-C was pressed, and runs are let finish for it."""
    return _noted.is_set()


@contextmanager
def noting() -> Iterator[Callable[[], bool]]:
    """Notes Ctrl-C instead of raising `KeyboardInterrupt`; gives what says whether it was pressed.

    Only in the main thread, which alone is told of signals, and unless the program has a handler of its own.
    """
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, _handle)
    try:
        yield noted if ours else lambda: False
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            _noted.clear()


def _handle(_number: int, _frame: FrameType | None) -> None:
    if noted():
        if sys.stderr.isatty():
            os.write(sys.stderr.fileno(), _SHOW_CURSOR.encode())
        os._exit(Interrupted.exit_status)
    _noted.set()
