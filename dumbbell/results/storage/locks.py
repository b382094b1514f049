"""Locks on the files of a store: the kernel's (flock), which releases them when a process dies.

A claim is an exclusive lock. Who looks whether there is one takes a shared one for a moment: others who look do not take it for a claim.
"""

from __future__ import annotations

import errno
import fcntl
import os

from dumbbell.files import Irregular, SafeFolder


def remove_unclaimed(folder: SafeFolder, name: str) -> None:
    """Removes the file of a claim whose process has ended. On a file system without locks it stays."""
    try:
        descriptor = _looked_at(folder, name)
    except BlockingIOError:
        return
    if descriptor is not None:
        try:
            folder.remove(name)  # while it has the lock of who looks: nobody can claim it meanwhile
        finally:
            os.close(descriptor)


def is_claimed(folder: SafeFolder, name: str) -> bool:
    """True if a process holds a claim now. On a file system without locks nobody does."""
    try:
        descriptor = _looked_at(folder, name)
    except BlockingIOError:
        return True
    if descriptor is not None:
        os.close(descriptor)
    return False


def _looked_at(folder: SafeFolder, name: str) -> int | None:
    """Return a descriptor with the lock of a process that looks at a claim; None if there is no such file, or its file system has no locks.

    Raises `BlockingIOError` if a process holds the claim.
    """
    try:
        descriptor = folder.open(name, os.O_RDWR)
    except (OSError, Irregular):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise
        return None
    return descriptor


def claim(descriptor: int) -> None:
    """Takes a claim. Raises `BlockingIOError` at once if another process has it."""
    while True:
        try:
            flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # not taken by a claim, or this raises, but by somebody who looks
            flock(descriptor, fcntl.LOCK_UN)


def is_at(descriptor: int, folder: SafeFolder, name: str) -> bool:
    """True if an open file is still the one of that name: another process may have removed it before it was locked."""
    try:
        return os.path.samestat(os.fstat(descriptor), folder.stat(name))
    except FileNotFoundError:
        return False


def flock(descriptor: int, how: int) -> None:
    """Takes a lock. On a file system without locks it does nothing: only one process may use the folder there."""
    try:
        fcntl.flock(descriptor, how)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP):
            raise
