"""Standard streams that are closed, full or cannot encode a character: commands end cleanly all the same."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from io import TextIOWrapper

from dumbbell.errors import printable_lines


def prepare_streams() -> None:
    """Open closed standard streams as /dev/null, so that no other file gets their numbers. Escape characters that cannot be encoded."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Writes to stderr, and nothing that a terminal interprets. If that is not possible nobody is listening, which is no reason to fail."""
    try:
        sys.stderr.write(printable_lines(text))
        sys.stderr.flush()
    except OSError:
        _discard(2)


def redirected_here() -> str | None:
    """The name of the file in the current folder that stdout is written to, if it is one."""
    with suppress(OSError, ValueError):
        target = os.readlink(f"/proc/self/fd/{sys.stdout.fileno()}")
        if os.path.isfile(target) and os.path.dirname(target) == os.getcwd():
            return os.path.basename(target)
    return None


def flush_output() -> int | None:
    """Flushes stdout. If its other end is closed or its disk is full, the rest is discarded; the exit status then."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return output_failed(error)
    return None


def output_failed(error: OSError) -> int:
    """Turn an error of a write to stdout into an exit status, and print a line unless the reader has just gone away."""
    _discard(1)
    if error.errno == errno.EPIPE:
        return 128 + 13  # as a program ends that SIGPIPE kills
    say(f"standard output: {error.strerror}\n")
    return 3


def _discard(descriptor: int) -> None:
    """Send all later output of a stream, and its buffer, to /dev/null."""
    with suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, descriptor)
        os.close(null)
