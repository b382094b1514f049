"""The private namespaces and the folder of a laboratory, and running programs there."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dumbbell.engines.kernel.requirements import search_path
from dumbbell.engines.linux import programs
from dumbbell.errors import EnvironmentFault

_HERE = Path(__file__).parent
_PREFIX = "dumbbell-lab-"


@dataclass(frozen=True)
class Namespaces:
    """Network, mounts and processes of a laboratory."""

    process: int
    """Process id of the first process in them."""
    folder: Path
    _enter: Path
    _started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, command: Sequence[str], *, priority: int = 0, **options: Any) -> subprocess.Popen[bytes]:
        """Starts a program in there. `options` are those of `Popen`; a `priority` above 0 is one of SCHED_FIFO.

        The exit status is that of the program, or 128 and the signal that ended it.
        """
        process = subprocess.Popen([str(self._enter), str(self.process), str(priority), *command], **options)
        self._started.append(process)
        return process

    def run(self, command: Sequence[str], given: str = "") -> str:
        """Run a program to its end. Return its output. Raises `EnvironmentFault` with its first line if it fails."""
        environment = {**os.environ, "PATH": search_path(), "LC_ALL": "C"}
        process = self.start(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        printed = process.communicate(given.encode())[0].decode(errors="replace").strip()
        if process.returncode:
            said = printed.splitlines()[:1] or [f"exit status {process.returncode}"]
            where = "do this machine's kernel and container allow bridges and tap devices (modprobe bridge tun)?"
            raise EnvironmentFault(f"the laboratory's network cannot be made: {command[0]}: {said[0]}; {where}")
        return printed

    def reap(self) -> None:
        """Wait for the started programs, when the namespaces are gone."""
        for process in self._started:
            process.wait()


@contextlib.contextmanager
def opened() -> Iterator[Namespaces]:
    """Make namespaces with a folder. In the end, or when this process ends in any way, all programs in there are killed and the folder is
    removed. Raises `EnvironmentFault`."""
    enter, keep = (programs.compiled(f"lab-{name}", [_HERE / f"{name}.c"]).path for name in ("enter", "keep"))
    command = [str(keep), str(Path(tempfile.gettempdir(), f"{_PREFIX}XXXXXX"))]
    with contextlib.ExitStack() as last:
        # Leaving it closes the pipe, for which the keeper waits, and waits for the keeper.
        keeper = last.enter_context(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        )
        assert keeper.stdout is not None  # a pipe
        process, _, folder = (line := keeper.stdout.readline().strip()).partition(" ")
        if not process.isdecimal():
            raise EnvironmentFault(f"this machine does not allow a laboratory its namespaces ({line}); a container needs SYS_ADMIN")
        if any(character.isspace() for character in folder):
            raise EnvironmentFault(f"{folder}: a guest cannot be booted below a path with a blank; TMPDIR names another")
        made = Namespaces(int(process), Path(folder), enter)
        try:
            yield made
        finally:
            last.close()
            made.reap()
