"""`dumbbell pack` killed at every step: the store is valid, and no run is lost."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import make_run

from dumbbell.results import Store, load

RUNS = 4
# Modules are imported once. Each line is a folder, and after how many calls that change files the command, a fork, kills itself, so
# that each step is tried as the last one. The answer is how it ended.
PROGRAM = """
import os, shutil, sys
sys.path.insert(0, sys.argv[1])
import polars
from dying import die_after
from dumbbell.cli import main
from dumbbell.results import Store
from dumbbell.results.storage import pack, packing

for line in sys.stdin:
    folder, left, most = line.rsplit(" ", 2)
    pack.MOST_RUNS = int(most)
    if not (child := os.fork()):
        die_after(int(left))
        sys.argv = ["dumbbell", "pack", folder]
        os.dup2(2, 1)
        main()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def ended():
    """A function that packs a folder in another process and says how that ended."""
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, Path(__file__).parents[1] / "helpers"]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ask(folder, calls, most=2):
        print(f"{folder} {calls} {most}", file=server.stdin, flush=True)
        return int(server.stdout.readline())

    yield ask
    server.communicate()


def make(folder, **more):
    found = Store(folder)
    runs = [make_run(f"{i:032x}", cell={"n": i}, samples=11 + i) for i in range(RUNS)]
    found.request([(run.name, run.cell, run.key) for run in runs])
    for i, run in enumerate(runs):
        captures = {"left.pcap": b"packets"} if i == 1 else {}
        object.__setattr__(run, "captures", captures)
        found.write(run, "dumbbell run s.yaml", **more)
    return {run.key: (run.digest, found.record(run.key), found.host(run.key)) for run in runs}


def contents(folder):
    found = Store(folder)
    assert all(found.is_whole(run.key) for run in found.runs())
    return {run.key: (run.digest, found.record(run.key), found.host(run.key)) for run in found.runs()}


def test_a_process_that_is_killed_at_any_step_loses_nothing(tmp_path, ended):
    calls = 0
    folder = tmp_path / "out"
    expected = make(folder)
    for calls in range(1000):  # each process goes on from what the one before it left, and comes a step further
        status = ended(folder, calls)
        assert contents(folder) == expected
        if not status:
            break
        assert status == -signal.SIGKILL
    assert calls > 15
    assert sorted(name for name in os.listdir(folder) if not name.startswith(".partial")) == [
        ".lock",
        f"{1:032x}",
        "index.jsonl",
        "packs",
        "study.json",
    ]
    assert os.listdir(folder / f"{1:032x}") == ["left.pcap"]
    Store(folder).request([])
    assert not [name for name in os.listdir(folder) if name.startswith((".partial-", ".claim-"))]
    assert [run.digest for run in load(folder)] == [digest for digest, _, _ in expected.values()]
    assert sum(len(each.keys) for each in Store(folder).packs.all()) == RUNS, "no run is in two packs"


def test_a_process_that_is_killed_while_it_puts_packs_together_loses_nothing(tmp_path, ended):
    folder = tmp_path / "out"
    expected = make(folder)
    assert ended(folder, 1000, most=1) == 0
    assert len(Store(folder).packs.all()) == RUNS
    (folder / f"{2:032x}").mkdir()
    with pytest.MonkeyPatch.context() as patch:  # a run that was rerun while its pack was damaged
        patch.setattr(Store, "is_whole", lambda *_: False)
        again = make_run(f"{2:032x}", cell={"n": 2}, samples=13)
        Store(folder).write(again, "dumbbell run s.yaml --workers 1")
    expected[again.key] = again.digest, Store(folder).record(again.key), Store(folder).host(again.key)
    assert b"--workers 1" in expected[again.key][1]
    for calls in range(1000):
        status = ended(folder, calls, most=3)
        assert contents(folder) == expected
        if not status:
            break
        assert status == -signal.SIGKILL
    assert calls > 15
    assert sorted(len(each.keys) for each in Store(folder).packs.all()) == [1, 3]
    assert sorted(key for each in Store(folder).packs.all() for key in each.keys) == sorted(expected), "no run is in two packs"
    assert Store(folder).folders() == [f"{1:032x}"], "of which nothing is packed"
    assert os.listdir(folder / f"{1:032x}") == ["left.pcap"]
