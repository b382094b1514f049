"""Fixtures for all tests."""

import os
import signal
import subprocess
from typing import NamedTuple

import pytest
from drawn import draw_from, seeded
from required import required
from waiting import HANG_S

from dumbbell import cli
from dumbbell.comparing.tables import WIDTH
from dumbbell.executor import interrupt


def pytest_addoption(parser):
    """Options for the seed and the number of drawn cases: `make validate` gives a fresh seed and more cases."""
    group = parser.getgroup("drawn")
    group.addoption("--seed", type=int, default=1, help="of everything that tests draw")
    group.addoption("--examples", type=int, help="cases of each property test; as many as the test says if not given")
    group.addoption("--flips", type=int, default=100, help="bits to flip in stored files, foreign files and requests to damage")
    group.addoption("--folders", type=int, default=20, help="results folders to change as somebody who means harm")
    group.addoption("--kills", type=int, default=20, help="processes to kill while they write")


def pytest_configure(config):
    """Reject unknown names in DUMBBELL_REQUIRE before any test runs, and set the draws of property tests, the readers of written files and
    the width of tables."""
    os.umask(0o022)  # programs that run as other users read files of tests
    os.environ["COLUMNS"] = str(WIDTH)  # pytest-xdist sets 80 for its workers, and a terminal has its own
    required()
    draw_from(config.getoption("examples"))


def pytest_collection_modifyitems(config, items):
    """Have every property test draw from the seed."""
    for item in items:
        seeded(item, config.getoption("seed"))


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MB; skips the test if mounting is not allowed."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, check=False)
    if mount.returncode:
        pytest.skip("a small file system needs root")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


@pytest.fixture
def interruptible(monkeypatch):
    """Let Ctrl-C interrupt this process and the processes that it starts: a shell lets programs in the background ignore it.

    A run of this process has all the time it needs to answer: on a busy machine the process with the tests would be ended instead.
    """
    monkeypatch.setattr(interrupt, "GRACE_S", HANG_S)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Answer(NamedTuple):
    """Exit status and output of a command."""

    status: int
    out: str
    err: str


@pytest.fixture
def dumbbell(monkeypatch, capsys):
    """A function that runs `dumbbell ARGUMENTS...` in this process."""

    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["dumbbell", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        captured = capsys.readouterr()
        return Answer(stop.value.code or 0, captured.out, captured.err)

    return call
