"""An empty cache for each test, shell scripts in place of kernels, and the real kernel if it is built."""

import os
import subprocess
from pathlib import Path

import pytest
from required import missing

from dumbbell.engines.kernel import binary as binaries
from dumbbell.engines.kernel import guest
from dumbbell.engines.kernel.binary import Binary
from dumbbell.engines.linux import programs
from dumbbell.errors import EnvironmentFault


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """The folder of kernels, below a fresh $XDG_CACHE_HOME."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "dumbbell" / "kernel"


@pytest.fixture(scope="session")
def launcher(tmp_path_factory):
    """The compiled launcher."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        try:
            return programs.launcher().path
        except EnvironmentFault as fault:
            missing("kernel", fault)


@pytest.fixture
def script(tmp_path, launcher):
    """A function that makes a kernel of a shell script."""

    def make(text):
        linux, agent = tmp_path / "linux.sh", tmp_path / "agent.c"
        linux.write_text(f"#!/bin/sh\n{text}\n")
        linux.chmod(0o755)
        agent.write_text("agent")
        return Binary(linux, "6.12.0", "configuration", "key", agent, "agent", launcher)

    return make


@pytest.fixture(scope="session")
def real():
    """The kernel of the user's cache, if it boots."""
    try:
        found = binaries.find()
    except EnvironmentFault as fault:
        missing("kernel", fault)
    if reason := guest.probe(found):
        missing("kernel", reason)
    return found


@pytest.fixture
def folder(tmp_path):
    """An empty folder for a guest."""
    made = tmp_path / "run"
    made.mkdir()
    return made


def compile_agent(path: Path, text: str) -> Path:
    """A static program of C."""
    subprocess.run(["gcc", "-static", "-x", "c", "-o", path, "-"], input=text, text=True, check=True)
    return path


def processes_in(folder: Path) -> list[int]:
    """Processes whose working directory is the folder; a guest's all have the one it was booted in."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if Path(os.readlink(entry / "cwd")) == folder:
                    found.append(int(entry.name))
            except OSError:  # gone, or another user's
                continue
    return found
