"""Ctrl-C while runs are computed."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from waiting import HANG_S

from dumbbell.executor import interrupt
from dumbbell.executor.interrupt import abortable, deferred, is_interrupted, uninterrupted

pytestmark = pytest.mark.usefixtures("interruptible")


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_a_library_that_takes_ctrl_c_for_itself_is_called_again() -> None:
    calls: list[int] = []

    def write() -> None:
        calls.append(len(calls))
        if len(calls) == 1:
            raise KeyboardInterrupt

    with deferred():
        uninterrupted(write)
    assert calls == [0, 1]


def test_one_that_nobody_defers_and_a_second_one_end_it() -> None:
    def write() -> None:
        raise KeyboardInterrupt

    with deferred(), pytest.raises(KeyboardInterrupt):
        uninterrupted(write)
    with pytest.raises(KeyboardInterrupt):
        uninterrupted(write)


def test_it_aborts_what_is_under_way_and_what_begins_after_it() -> None:
    aborted = threading.Event()
    with deferred() as interrupted:
        with abortable(aborted.set):
            press()
            assert aborted.wait(HANG_S)
        assert interrupted()
        late = threading.Event()
        with abortable(late.set):
            assert late.is_set()
    assert not is_interrupted()


def test_a_signal_that_comes_twice_at_once_counts_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """timeout(1) sends SIGTERM to the process and then to its group. A second Ctrl-C would end the process with these tests."""
    monkeypatch.setattr(interrupt, "TOGETHER_S", HANG_S)
    heard = threading.Event()
    with deferred() as interrupted:
        with abortable(heard.set):
            press()
            assert heard.wait(HANG_S)
            press()
        assert interrupted()


def test_a_wait_that_signals_do_not_end_is_no_matter() -> None:
    """Libraries install handlers after which system calls go on (SA_RESTART), so that the main thread does not hear of the signal."""
    done = threading.Event()
    with deferred(), abortable(done.set):
        signal.siginterrupt(signal.SIGINT, False)
        threading.Timer(0.2, press).start()
        assert done.wait(HANG_S)


def test_signals_of_others_reach_their_descriptor() -> None:
    heard, written = os.pipe()
    os.set_blocking(written, False)
    before, handler = signal.set_wakeup_fd(written), signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        with deferred():
            os.kill(os.getpid(), signal.SIGUSR1)
            assert os.read(heard, 1) == bytes([signal.SIGUSR1])
        assert signal.set_wakeup_fd(before) == written
    finally:
        signal.set_wakeup_fd(before)
        signal.signal(signal.SIGUSR1, handler)
        os.close(heard)
        os.close(written)
