"""Fixtures for all tests."""

import signal
import subprocess
from typing import NamedTuple

import pytest
from hypothesis import settings
from required import required

from dumbbell import cli


def pytest_addoption(parser):
    """How long the random attacks on the store last, and what they begin from: `make validate` gives more, and a fresh seed."""
    group = parser.getgroup("attack")
    group.addoption("--seed", type=int, default=1, help="of the random attacks on the store")
    group.addoption("--flips", type=int, default=100, help="bits to flip in stored files")
    group.addoption("--folders", type=int, default=20, help="results folders to change as somebody who means harm")
    group.addoption("--kills", type=int, default=20, help="processes to kill while they write")


def pytest_configure():
    """Refuse unknown names in DUMBBELL_REQUIRE before any test runs."""
    required()


# No deadline: tests run in parallel, so that the time of an example means nothing.
settings.register_profile("beside others", deadline=None)
settings.load_profile("beside others")


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
def interruptible():
    """Ctrl-C interrupts here and in the processes that are started: a shell lets what it runs in the background ignore it."""
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
