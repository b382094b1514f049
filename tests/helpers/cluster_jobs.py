"""Runs that harm a worker as no run should, for tests of clusters. Workers import this module."""

import os
import signal
import time
from dataclasses import dataclass, fields, replace

from support import PATH

from dumbbell import Scenario
from dumbbell.engines.prepared import Prepared

SCENARIO = {
    "name": "s",
    "path": PATH,
    "flows": [{"cc": "cubic", "start": {"jitter": "10ms"}}],
    "duration": "300ms",
    "sweep": {"path.bottleneck.rate": ["1mbit", "5mbit", "20mbit"]},
    "repeat": 8,
}


def scenario(**changes):
    """Return 24 short runs with these changes; keys that are None are left out."""
    return Scenario.model_validate({key: value for key, value in {**SCENARIO, **changes}.items() if value is not None})


def as_kind(kind, prepared):
    """The same run, computed in another way."""
    return kind(**{each.name: getattr(prepared, each.name) for each in fields(prepared)})


@dataclass(frozen=True)
class Killer(Prepared):
    """Kills the process that computes it."""

    def produce(self):
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class WorkerKiller(Prepared):
    """Kills the worker, also from a process of its own."""

    def produce(self):
        is_apart = os.getsid(0) == os.getpid()
        os.kill(os.getppid() if is_apart else os.getpid(), signal.SIGKILL)
        time.sleep(3600)  # until it is ended, too


@dataclass(frozen=True)
class Liar(Prepared):
    """Has another result in each process."""

    def produce(self):
        run = super().produce()
        return replace(run, digest=f"{os.getpid():064x}", reasons=run.reasons)


@dataclass(frozen=True)
class Faulty(Prepared):
    """Raise an exception that no run should."""

    def produce(self):
        raise ValueError("a fault of this program")
