"""From the sources of Linux to a kernel in the cache: unpack, patch, configure, compile, check, rename."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from dumbbell.engines.kernel import binary, requirements, source
from dumbbell.engines.kernel.series import BUILT
from dumbbell.engines.linux import cache
from dumbbell.errors import EnvironmentFault

LOG = "failed-build.log"
_SCRATCH = ".building-"
_TAIL = 15
"""Number of lines of the log to show after a failure."""
_OBJECT = re.compile(r"^ +(CC|AS|HOSTCC) ")
_CONSTANTS = {
    "KBUILD_BUILD_TIMESTAMP": "2024-01-01 00:00:00 UTC",
    "KBUILD_BUILD_USER": "dumbbell",
    "KBUILD_BUILD_HOST": "dumbbell",
    "KBUILD_BUILD_VERSION": "1",
}
"""Fixed, because they are in the kernel's version string, which the kernel mixes into its random numbers."""

Tell = Callable[[str], None]
Progress = Callable[[int, int], None]


def build(tarball: Path | None, jobs: int, tell: Tell, progress: Progress) -> bool:
    """Builds the kernel unless the cache has it. Returns whether it was built.

    Args:
        tarball: The kernel's sources; None takes those of the distribution's package.
        jobs: Number of parallel compilers.
        tell: Called with a line of text at the beginning of each stage.
        progress: Called with (objects compiled, objects expected).

    Raises `EnvironmentFault` with what is missing or the end of the log, and `BadInput` if the sources cannot be used.
    """
    if tarball is None and binary.built():
        return False
    folder = cache.folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentFault(f"{folder}: cannot be made: {error.strerror}") from error
    chosen = source.installed() if tarball is None else source.named(tarball)
    requirements.check(folder, chosen)
    assert chosen is not None  # checked
    with _alone(folder, tell):
        checksum, compiler = _checksum(chosen), _first_line("gcc", "--version")
        key = cache.digest(part.encode() for part in (checksum, binary.recipe(), compiler))
        if binary.describe(folder / key):
            return False
        for left in folder.glob(f"{_SCRATCH}*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=folder) as scratch:
            result = _Build(folder, Path(scratch), jobs, tell, progress).run(chosen)
            result |= {"key": key, "recipe": binary.recipe(), "source": {"name": chosen.name, "sha256": checksum}, "compiler": compiler}
            _publish(Path(scratch) / "result", folder / key, result)
        (folder / LOG).unlink(missing_ok=True)
    return True


@contextlib.contextmanager
def _alone(folder: Path, tell: Tell) -> Iterator[None]:
    """Allows one build at a time. The kernel releases the lock when the process ends."""
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("another build is under way; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _publish(made: Path, target: Path, description: dict[str, object]) -> None:
    (made / binary.DESCRIPTION).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
    for file in made.iterdir():
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
    shutil.rmtree(target, ignore_errors=True)
    made.rename(target)


def _checksum(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _first_line(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=True).stdout.splitlines()[0]


class _Build:
    """One build, in a temporary folder."""

    def __init__(self, folder: Path, scratch: Path, jobs: int, tell: Tell, progress: Progress) -> None:
        self._folder, self._jobs, self._tell, self._progress = folder, jobs, tell, progress
        self._tree, self._result, self._log = scratch / "linux", scratch / "result", scratch / "log"

    def run(self, tarball: Path) -> dict[str, object]:
        """Leaves the kernel in `result`. Returns the contents of `build.json`."""
        self._tree.mkdir()
        self._result.mkdir()
        self._tell(f"unpacking {tarball}")
        version = source.unpack(tarball, self._tree)
        source.apply(binary.patches(), self._tree, version)
        self._tell(f"compiling Linux {version}, {self._jobs} jobs; 4 minutes on two processors")
        self._make(f"KCONFIG_ALLCONFIG={binary.FRAGMENT}", "allnoconfig")
        config = (self._tree / ".config").read_text(encoding="utf-8")
        check_configuration(config, binary.FRAGMENT.read_text(encoding="utf-8"), version)
        self._make(f"-j{self._jobs}", "linux")
        linux = self._result / binary.LINUX
        subprocess.run(["strip", "-o", linux, self._tree / "linux"], check=True)
        tools = {name: _first_line(name, "--version") for name in ("ld", "make", "bison", "flex")}
        return {"version": version, "config_hash": cache.digest([config.encode()]), "tools": tools}

    def _make(self, *arguments: str) -> None:
        """Runs make. Its output is a pipe, so that if this process dies, make ends at its next line of output."""
        # The caller's MAKEFLAGS, CFLAGS and the like must not affect the kernel's build.
        environment = {"PATH": requirements.search_path(), "LC_ALL": "C", **_CONSTANTS}
        command = ["make", "ARCH=um", *arguments]
        done, tail = 0, deque[str](maxlen=_TAIL)
        with (
            self._log.open("a", encoding="utf-8") as log,
            subprocess.Popen(
                command,
                cwd=self._tree,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            ) as process,
        ):
            try:
                for line in _lines(process):
                    log.write(line)
                    tail.append(line)
                    if _OBJECT.match(line):
                        done += 1
                        self._progress(done, max(done, BUILT.objects))
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        if process.returncode:
            raise EnvironmentFault(self._failure("".join(tail)))

    def _failure(self, tail: str) -> str:
        kept = self._folder / LOG
        shutil.copyfile(self._log, kept)
        return f"the kernel cannot be compiled; the whole log is {kept}, it ends in\n{tail.rstrip()}"


def _lines(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None  # a pipe
    return process.stdout


def check_configuration(config: str, fragment: str, version: str) -> None:
    """Raises `EnvironmentFault` with the lines of the fragment that are not in the final configuration."""
    taken = set(config.splitlines())
    missing = [line for line in fragment.splitlines() if line.startswith("CONFIG_") and line not in taken]
    for line in fragment.splitlines():
        if unset := re.fullmatch(r"# (CONFIG_\w+) is not set", line):
            missing += [f"{unset[1]} off" for entry in taken if entry.startswith(f"{unset[1]}=")]
    if missing:
        raise EnvironmentFault(f"Linux {version} cannot be configured as expected: {', '.join(missing)} did not take effect")
