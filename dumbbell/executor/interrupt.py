"""Ctrl-C and SIGTERM while runs are computed. After the first signal no run begins, and those under way are aborted. The store keeps all
runs that are complete, and the command says how to go on. The process ends at once if a run does not stop in time, or at a second signal.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType

from dumbbell.errors import Interrupted
from dumbbell.files import remove_temporary_files

GRACE_S = 0.7
"""The time that aborted runs have to stop."""
TOGETHER_S = 0.1
"""Signals within this time of the first one count as one with it: timeout(1) sends SIGTERM to the process, and then to its group."""
_SHOW_CURSOR = "\x1b[?25h\n"
"""Shows the cursor, which a progress bar hides."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_interrupted = False
_lock = threading.Lock()
"""Held while `_under_way` changes, and while all its runs are aborted, so that no run is missed."""
_under_way: dict[object, Callable[[], None]] = {}
"""For each run that can be aborted, the function that does it."""


class Aborted(Exception):
    """A run was aborted because the user interrupted."""


def is_interrupted() -> bool:
    """True if Ctrl-C was pressed, or SIGTERM came, within `deferred`."""
    return _interrupted


@contextmanager
def abortable(abort: Callable[[], None]) -> Iterator[None]:
    """Let an interrupt call `abort`, from another thread, within the context. If the interrupt came before, this thread calls `abort` at
    once.

    The aborted code raises `Aborted`. If it has not left the context after `GRACE_S`, the process ends.
    """
    token = object()
    with _lock:
        _under_way[token] = abort
        is_late = _interrupted
    try:
        if is_late:
            abort()
        yield
    finally:
        with _lock:
            del _under_way[token]


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Let SIGTERM raise `KeyboardInterrupt`, like Ctrl-C, within the context, unless the program has installed its own handler."""
    with _handled(_main_thread_signals((signal.SIGTERM,), signal.SIG_DFL), signal.default_int_handler):
        yield


@contextmanager
def deferred(last_words: Callable[[], str] = lambda: "interrupted") -> Iterator[Callable[[], bool]]:
    """Within it the first Ctrl-C or SIGTERM sets a flag and aborts what is `abortable`, instead of raising `KeyboardInterrupt`. Yields a
    function that reads the flag.

    The process ends with `last_words` if an aborted run does not stop in time, or at a second signal. It removes its temporary files first.
    The context has no effect outside the main thread, because only the main thread receives signals. It has no effect on a signal for which
    the program has installed its own handler.

    A thread listens for the signals, because the main thread handles them only when it executes Python. It does not while native code runs.
    Nor does it while it waits for other threads if a library (polars) has installed a handler after which system calls are restarted.
    """
    global _interrupted
    ours = _main_thread_signals(_SIGNALS, signal.default_int_handler)
    if not ours:
        yield lambda: False
        return
    with ExitStack() as stack:
        stack.enter_context(_listening(ours, last_words))
        stack.enter_context(_handled(ours, _note))
        try:
            yield is_interrupted
        finally:
            _interrupted = False


def uninterrupted(act: Callable[[], object]) -> None:
    """Call `act`. Within `deferred`, call it again if it raises `KeyboardInterrupt`, as a library does that handles Ctrl-C too (polars)."""
    try:
        act()
    except KeyboardInterrupt:
        if signal.getsignal(signal.SIGINT) is not _note:
            raise
        act()


@contextmanager
def _listening(ours: Collection[int], last_words: Callable[[], str]) -> Iterator[None]:
    """Let a thread listen for the signals that Python handles, within the context."""
    heard, written = os.pipe()
    os.set_blocking(written, False)
    before = signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    listener = threading.Thread(target=_listen, args=(heard, ours, last_words, before), daemon=True)
    listener.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(written)
        listener.join()
        os.close(heard)


def _listen(heard: int, ours: Collection[int], last_words: Callable[[], str], others: int) -> None:
    """Read numbers of signals until the writing end is closed. Pass them on to the descriptor `others`, unless it is -1."""
    deadline: float | None = None
    first: float | None = None
    while True:
        left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
        if not select.select([heard], [], [], left)[0]:
            deadline = None
            if _under_way:
                _end(last_words)
            continue
        if not (numbers := os.read(heard, 1024)):
            return
        if others != -1:
            with suppress(OSError):
                os.write(others, numbers)
        if not any(number in ours for number in numbers):
            continue
        now = time.monotonic()
        if first is None:
            first, deadline = now, now + GRACE_S
            _interrupt()
        elif now - first > TOGETHER_S:
            _end(last_words)


def _interrupt() -> None:
    """Abort all runs that are under way."""
    global _interrupted
    with _lock:
        _interrupted = True
        under_way = tuple(_under_way.values())
    for abort in under_way:
        abort()


def _note(_number: int, _frame: FrameType | None) -> None:
    """Handle a signal in the main thread, so that the Python code that it executes next sees the flag. The listener does the rest."""
    global _interrupted
    _interrupted = True


def _main_thread_signals(signals: Iterable[signal.Signals], handler: object) -> list[signal.Signals]:
    """Return the signals that have this handler; none outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return []
    return [each for each in signals if signal.getsignal(each) is handler]


@contextmanager
def _handled(signals: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Give the signals another handler within the context."""
    before = {each: signal.signal(each, handler) for each in signals}
    try:
        yield
    finally:
        for each, previous in before.items():
            signal.signal(each, previous)


def _end(last_words: Callable[[], str]) -> None:
    """End the process."""
    words = "interrupted"
    with suppress(Exception):
        words = last_words()
    remove_temporary_files()
    with suppress(OSError):
        os.write(2, f"{_SHOW_CURSOR if os.isatty(2) else ''}{words}\n".encode())
    os._exit(Interrupted.exit_status)
