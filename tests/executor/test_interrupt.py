"""Ctrl-C while runs are computed."""

from __future__ import annotations

import pytest

from dumbbell.executor.interrupt import deferred, is_interrupted, uninterrupted

pytestmark = pytest.mark.usefixtures("interruptible")


def test_a_library_that_takes_ctrl_c_for_itself_is_called_again() -> None:
    calls: list[int] = []

    def write() -> None:
        calls.append(len(calls))
        if len(calls) == 1:
            raise KeyboardInterrupt

    with deferred() as interrupted:
        uninterrupted(write)
        assert interrupted()
    assert calls == [0, 1]
    assert not is_interrupted()


def test_a_second_ctrl_c_ends_it_and_so_does_one_that_nobody_defers() -> None:
    def write() -> None:
        raise KeyboardInterrupt

    with deferred(), pytest.raises(KeyboardInterrupt):
        uninterrupted(write)
    with pytest.raises(KeyboardInterrupt):
        uninterrupted(write)
