"""Death at a step: a process that kills itself before one of the calls that change files, the same on every machine."""

import os
import signal
from pathlib import Path


def die_after(calls):
    """Let this process kill itself before the first call that changes files after this many."""
    left = calls

    def dying(function):
        def call(*arguments, **named):
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **named)

        return call

    for place, name in (*((os, each) for each in ("mkdir", "rename", "replace", "fsync", "unlink", "rmdir")), (Path, "unlink")):
        setattr(place, name, dying(getattr(place, name)))
