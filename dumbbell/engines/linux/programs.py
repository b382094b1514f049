"""Small C programs: the agent, which is a guest's first process, the launcher, which starts a guest, and those of other rooms.

They are compiled on demand and cached by the hash of their sources.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dumbbell.engines.linux import cache
from dumbbell.errors import EnvironmentFault

_HERE = Path(__file__).parent
_FLAGS = ("-O2", "-static", "-Wall", "-Wextra")
_SHARED = ("-O2", "-shared", "-fPIC", "-Wall", "-Wextra")
"""The flags for a library that is preloaded into programs of the machine."""


@dataclass(frozen=True)
class Program:
    """A compiled program."""

    path: Path
    key: str
    """The hash of its sources."""


def agent() -> Program:
    """Carries out the script in the guest. Raises `EnvironmentFault` if it cannot be compiled."""
    return compiled("agent", sorted((_HERE / "agent").rglob("*.[ch]")))


def launcher() -> Program:
    """Starts a program that dies with its parent. Raises `EnvironmentFault` if it cannot be compiled."""
    return compiled("launch", [_HERE / "launch.c"])


def mptcp() -> Program:
    """Makes the TCP sockets of a program that it is preloaded into MPTCP's. Raises `EnvironmentFault` if it cannot be compiled."""
    return compiled("mptcp", [_HERE / "mptcp.c"], _SHARED)


def compiled(name: str, sources: list[Path], flags: tuple[str, ...] = _FLAGS) -> Program:
    """A program of these sources, from the cache if it is there. Raises `EnvironmentFault` if it cannot be compiled."""
    key = cache.digest([cache.digest_of_files(sources).encode(), " ".join(flags).encode()])
    program = Program(cache.folder() / f"{name}-{key}", key)
    if not program.path.is_file():
        _compile(program.path, [source for source in sources if source.suffix == ".c"], flags)
    return program


def _compile(target: Path, sources: list[Path], flags: tuple[str, ...]) -> None:
    """Compiles and renames into place. Several processes may do this at once, since their results are identical."""
    compiler = shutil.which("gcc")
    if compiler is None:
        raise EnvironmentFault(
            "gcc not found, which compiles the programs for the guest; on Debian or Ubuntu: apt-get install gcc libc6-dev"
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
            output = Path(scratch) / target.name
            command = [compiler, *flags, "-o", str(output), *map(str, sources)]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False)
            if done.returncode:
                raise EnvironmentFault(f"gcc cannot compile {target.name}: {_first_error(done.stderr)}")
            os.replace(output, target)
    except OSError as error:
        raise EnvironmentFault(f"{target}: cannot be written: {error.strerror}") from error


def _first_error(text: str) -> str:
    lines = text.strip().splitlines() or ["no message"]
    return next((line for line in lines if "error" in line or "cannot find" in line), lines[-1])
