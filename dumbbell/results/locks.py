"""Locks on the files of a store: the kernel's (flock), which releases them when a process dies.

A claim is an exclusive lock. Who looks whether there is one takes a shared one for a moment: others who look do not take it for a claim.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path


def is_unclaimed(path: Path) -> bool:
    """Whether the process that made a claim has ended."""
    return _is_held(path) is False


def is_claimed(path: Path) -> bool:
    """Whether a process holds a claim now. On a file system without locks nobody does."""
    try:
        return _is_held(path) is True
    except OSError:
        return False


def _is_held(path: Path) -> bool | None:
    """Whether a process has locked a file; None if there is no such file, or its file system has no locks."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return False


def claim(descriptor: int) -> None:
    """Takes a claim. Raises `BlockingIOError` at once if another process has it."""
    while True:
        try:
            flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # not taken by a claim, or this raises, but by somebody who looks
            flock(descriptor, fcntl.LOCK_UN)


def is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the one of that name: whoever tidies up may have removed it before it was locked."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def flock(descriptor: int, how: int) -> None:
    """Takes a lock. On a file system without locks it does nothing: only one process may use the folder there."""
    try:
        fcntl.flock(descriptor, how)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP):
            raise
