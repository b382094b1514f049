"""Ctrl-C and SIGTERM while runs are computed. The first one begins no further run and aborts those under way, so that all that is stored
stays and the command says how to go on. A run that does not answer, or a second signal, ends the process.
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
"""How long runs have to answer that were aborted."""
_SHOW_CURSOR = "\x1b[?25h\n"
"""Shows the cursor, which a progress bar hides."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_interrupted = False
_lock = threading.Lock()
"""Held while a run comes to or leaves those under way, and while all are aborted, so that none is missed."""
_under_way: dict[object, Callable[[], None]] = {}
"""Runs that can be aborted, and how."""


class Aborted(Exception):
    """A run was aborted because the user interrupted."""


def is_interrupted() -> bool:
    """Whether Ctrl-C was pressed, or SIGTERM came, within `deferred`."""
    return _interrupted


@contextmanager
def abortable(abort: Callable[[], None]) -> Iterator[None]:
    """Within it an interrupt calls `abort` from another thread, or if there was one already, this thread does at once. What was aborted
    raises `Aborted`; if it is still here after `GRACE_S`, the process ends.
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
    """Within it SIGTERM raises `KeyboardInterrupt`, as Ctrl-C does, unless the program has installed its own handler."""
    with _handled(_main_thread_signals((signal.SIGTERM,), signal.SIG_DFL), signal.default_int_handler):
        yield


@contextmanager
def deferred(last_words: Callable[[], str] = lambda: "interrupted") -> Iterator[Callable[[], bool]]:
    """Within it the first Ctrl-C or SIGTERM sets a flag and aborts what is `abortable`, instead of raising `KeyboardInterrupt`; gives a
    function that reads the flag. If what is aborted does not answer, the process ends with `last_words`.

    A second signal ends it at once. Either way the temporary files of this process are removed. Without effect outside the main thread,
    which alone receives signals, and for a signal for which the program has installed its own handler.

    A thread listens for the signals, since the main thread hears of them only when it executes Python: not while native code runs, and
    not while it waits for others if a library (polars) has a handler of its own, after which system calls go on.
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
    """Calls `act`, and within `deferred` once more if a library that takes Ctrl-C for itself as well (polars while it writes) raises
    `KeyboardInterrupt` out of it.
    """
    try:
        act()
    except KeyboardInterrupt:
        if signal.getsignal(signal.SIGINT) is not _note:
            raise
        act()


@contextmanager
def _listening(ours: Collection[int], last_words: Callable[[], str]) -> Iterator[None]:
    """Has a thread listen for signals that Python handles."""
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
    """Hears of signals by their numbers, until nobody writes them any more. Passes them on to the descriptor `others`, unless it is -1."""
    deadline: float | None = None
    again = False
    while True:
        left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
        if not select.select([heard], [], [], left)[0]:
            deadline = None
            if _under_way:
                words = "interrupted"
                with suppress(Exception):
                    words = last_words()
                _end(words)
            continue
        if not (numbers := os.read(heard, 1024)):
            return
        if others != -1:
            with suppress(OSError):
                os.write(others, numbers)
        for _ in filter(ours.__contains__, numbers):
            if again:
                _end("interrupted")
            _interrupt()
            again = True
            deadline = time.monotonic() + GRACE_S


def _interrupt() -> None:
    """Aborts what is under way."""
    global _interrupted
    with _lock:
        _interrupted = True
        under_way = tuple(_under_way.values())
    for abort in under_way:
        abort()


def _note(_number: int, _frame: FrameType | None) -> None:
    """Handles a signal in the main thread, where it executes Python: what it does next knows of the signal. The listener does the rest."""
    global _interrupted
    _interrupted = True


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


def _end(words: str) -> None:
    """Ends the process."""
    remove_temporary_files()
    with suppress(OSError):
        os.write(2, f"{_SHOW_CURSOR if os.isatty(2) else ''}{words}\n".encode())
    os._exit(Interrupted.exit_status)
