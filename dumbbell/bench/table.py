"""Benchmark of `dumbbell table`, run as a separate process on a store of 1,000 similar runs."""

from __future__ import annotations

import hashlib
import resource
import subprocess
import sys
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

from dumbbell.executor import Threads
from dumbbell.results import Run, Store
from dumbbell.running.execute import execute
from dumbbell.running.prepare import prepare
from dumbbell.scenario import Scenario

RUNS = 1000
_SCENARIO = {
    "name": "sweep",
    "path": {"rtt": "40ms", "bottleneck": {"rate": "100mbit", "qdisc": {"kind": "fq_codel"}}},
    "flows": [{"cc": "cubic"}],
    "duration": "10s",
}
_RATES = 10
"""Number of values of the second coordinate."""


def cpu_s(repeats: int) -> float:
    """Minimum CPU seconds (user and system) of `dumbbell table` on the store, including the start of Python."""
    return min(command_cpu_s("table", _store().name) for _ in range(repeats))


@cache
def _store() -> tempfile.TemporaryDirectory[str]:
    """A temporary store of RUNS runs, removed when this process ends."""
    folder = tempfile.TemporaryDirectory(prefix="dumbbell-bench-")
    fill(Store(folder.name), RUNS)
    return folder


def fill(store: Store, count: int) -> None:
    """Writes copies of one simulated run that differ only in key and cell."""
    (run,) = execute(prepare(Scenario.model_validate(_SCENARIO).expand()), executor=Threads(1))
    runs = [_variant(run, number) for number in range(count)]
    store.request([(each.name, each.cell, each.key) for each in runs])
    for each in runs:
        store.write(each)


def _variant(run: Run, number: int) -> Run:
    cell = {"path.rtt": f"{number // _RATES + 1}ms", "path.bottleneck.rate": f"{number % _RATES + 1}mbit"}
    return replace(run, key=hashlib.sha256(f"{run.key} {number}".encode()).hexdigest()[:32], cell=cell)


def command_cpu_s(*arguments: str) -> float:
    """CPU seconds (user and system) of `dumbbell ARGUMENTS...` in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "dumbbell", *arguments], stdout=subprocess.DEVNULL, check=True, cwd=Path(__file__).parents[2])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
