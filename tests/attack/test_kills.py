"""Processes that are killed, or run out of room, while they write to a store: no whole run is lost, none is half there."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import make_run

from dumbbell.errors import BadInput
from dumbbell.results import Store

SCENARIO = """\
name: s
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: fq_codel}}}
flows: [{cc: cubic}]
duration: 1s
sweep: {path.rtt: [1ms, 2ms, 3ms, 4ms, 5ms, 6ms, 7ms, 8ms]}
"""
# Modules are imported once. Each line forks a process that runs the sweep, and its damaged runs again, and kills itself after this many
# calls that change files. The answer is its id, or with a full stop its status once it has ended.
PROGRAM = """
import os, sys
sys.path.insert(0, sys.argv[2])
import polars
from dying import die_after
from dumbbell import Scenario, Store
from dumbbell.running.execute import execute
from dumbbell.running.prepare import prepare
from dumbbell.executor import Threads
runs = prepare(Scenario.from_file(sys.argv[1]).runs())
for line in sys.stdin:
    if line[0] == ".":
        print(os.waitstatus_to_exitcode(os.waitpid(int(line[1:]), 0)[1]), flush=True)
        continue
    folder, workers, calls = line.rsplit(" ", 2)
    if not (child := os.fork()):
        die_after(int(calls))
        execute(runs, Store(folder), Threads(int(workers)), repair=True)
        os._exit(0)
    print(child, flush=True)
"""


class Forks:
    """Starts processes that run the sweep."""

    def __init__(self, scenario):
        command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(scenario), Path(__file__).parents[1] / "helpers"]
        self.took_s = 0.0
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self, folder, workers=2, calls=10**9):
        return self._ask(f"{folder} {workers} {calls}")

    def wait(self, process):
        return self._ask(f".{process}")

    def _ask(self, line):
        print(line, file=self._server.stdin, flush=True)
        return int(self._server.stdout.readline())

    def close(self):
        self._server.communicate()


@pytest.fixture(scope="module")
def forks(tmp_path_factory):
    """The means to start processes."""
    file = tmp_path_factory.mktemp("forks") / "s.yaml"
    file.write_text(SCENARIO)
    server = Forks(file)
    yield server
    server.close()


def leftovers(folder):
    return [name for name in os.listdir(folder) if name.startswith((".partial-", ".claim-"))]


def damage(store, key):
    path = store.path / key / "series.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


MOST_CALLS = 40
"""Maximum number of calls that change files while five runs are rerun."""


def by_step(forks, folder, rng):
    """Starts a process that kills itself at a step, which is the same on every machine since one thread computes. Returns its status."""
    return forks.wait(forks.start(folder, workers=1, calls=rng.randrange(MOST_CALLS)))


def by_clock(forks, folder, rng):
    """Start a process and kill it at a random time within the time of a process that was not killed. Return its status."""
    began, process = time.monotonic(), forks.start(folder)
    if forks.took_s:
        time.sleep(rng.uniform(0, forks.took_s))
        os.kill(process, signal.SIGKILL)
    if (status := forks.wait(process)) == 0:
        forks.took_s = time.monotonic() - began
    return status


@pytest.mark.parametrize("ended", [by_step, pytest.param(by_clock, marks=pytest.mark.clock)])
def test_a_process_that_is_killed_loses_nothing(ended, forks, tmp_path, request):
    rng = random.Random(request.config.getoption("seed"))
    folder, store = tmp_path / "out", Store(tmp_path / "out")
    assert forks.wait(forks.start(folder)) == 0
    expected = {run.key: run.digest for run in store.runs()}
    assert len(expected) == 8
    whole, statuses = set(expected), []
    for _ in range(request.config.getoption("kills")):
        if whole == set(expected):
            for key in rng.sample(sorted(whole), 5):  # some runs are rerun because they are damaged, some for the first time
                if rng.random() < 0.5:
                    damage(store, key)
                else:
                    shutil.rmtree(store.path / key)
                whole.remove(key)
        statuses.append(ended(forks, folder, rng))
        now = {key for key in store.stored_keys() if store.is_whole(key)}
        assert whole <= now
        assert now | set(store.stored_keys()) <= set(expected)
        whole = now
    assert set(statuses) <= {0, -signal.SIGKILL}
    assert -signal.SIGKILL in statuses
    assert forks.wait(forks.start(folder)) == 0
    assert leftovers(folder) == []
    assert {run.key: run.digest for run in store.runs()} == expected
    assert all(map(store.verify, expected))


def test_processes_that_repair_one_store_at_the_same_time(forks, tmp_path):
    folder, store = tmp_path / "out", Store(tmp_path / "out")
    assert forks.wait(forks.start(folder)) == 0
    expected = {run.key: run.digest for run in store.runs()}
    for key in store.stored_keys():
        damage(store, key)
    assert [forks.wait(process) for process in [forks.start(folder) for _ in range(4)]] == [0] * 4
    assert {run.key: run.digest for run in store.runs()} == expected
    assert all(map(store.verify, expected))
    assert leftovers(folder) == []


@contextmanager
def files_at_most(size):
    """No file may grow beyond this size, as on a disk that is nearly full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("size", [0, 100, 1500])
def test_without_room_a_damaged_run_stays_as_it_is(tmp_path, size):
    store = Store(tmp_path / "out")
    run = make_run("a" * 32)
    store.request([("s", {}, run.key)])
    store.write(run)
    damage(store, run.key)
    before = {path: path.read_bytes() for path in store.path.rglob("*") if path.is_file()}
    with files_at_most(size), pytest.raises(BadInput, match=r"cannot be written \(File too large\)"):
        store.write(run)
    assert {path: path.read_bytes() for path in store.path.rglob("*") if path.is_file()} == before
    store.write(run)
    assert store.verify(run.key)
    assert len(store.runs()) == 1
