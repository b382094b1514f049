"""Ctrl-C and SIGTERM while runs are computed: the first is deferred, so that running jobs finish and are stored; a second one ends all."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from dumbbell.errors import Interrupted
from dumbbell.files import remove_temporary_files

_SHOW_CURSOR = "\x1b[?25h\n"
"""Shows the cursor, which a progress bar hides."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_interrupted = threading.Event()


def is_interrupted() -> bool:
    """Whether Ctrl-C was pressed, or SIGTERM came, within `deferred`."""
    return _interrupted.is_set()


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Within it SIGTERM raises `KeyboardInterrupt`, as Ctrl-C does, unless the program has installed its own handler."""
    with _handled(_main_thread_signals((signal.SIGTERM,), signal.SIG_DFL), signal.default_int_handler):
        yield


@contextmanager
def deferred() -> Iterator[Callable[[], bool]]:
    """Within it the first Ctrl-C or SIGTERM sets a flag instead of raising `KeyboardInterrupt`; gives a function that reads the flag.

    A second one removes the temporary files of this process and ends it. Without effect outside the main thread, which alone receives
    signals, and for a signal for which the program has installed its own handler.
    """
    # polars takes Ctrl-C for itself when it is imported, without waking a thread that waits. If that came later, Ctrl-C would be heard
    # only at the end of a run.
    import polars  # noqa: F401

    ours = _main_thread_signals(_SIGNALS, signal.default_int_handler)
    with _handled(ours, _handle):
        try:
            yield is_interrupted if ours else lambda: False
        finally:
            if ours:
                _interrupted.clear()


def uninterrupted(act: Callable[[], object]) -> None:
    """Calls `act`. A library that takes Ctrl-C for itself (polars while it writes) raises `KeyboardInterrupt` out of it: within
    `deferred` that counts as the first Ctrl-C, and `act` is called again.
    """
    try:
        act()
    except KeyboardInterrupt:
        if signal.getsignal(signal.SIGINT) is not _handle:
            raise
        _interrupted.set()
        act()


def _main_thread_signals(signals: Iterable[signal.Signals], handler: object) -> list[signal.Signals]:
    """Those of the signals that have this handler; none outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return []
    return [each for each in signals if signal.getsignal(each) is handler]


@contextmanager
def _handled(signals: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Has the signals handled in another way for a while."""
    before = {each: signal.signal(each, handler) for each in signals}
    try:
        yield
    finally:
        for each, previous in before.items():
            signal.signal(each, previous)


def _handle(_number: int, _frame: FrameType | None) -> None:
    if is_interrupted():
        remove_temporary_files()
        with suppress(OSError):
            os.write(2, f"{_SHOW_CURSOR if os.isatty(2) else ''}interrupted\n".encode())
        os._exit(Interrupted.exit_status)
    _interrupted.set()
