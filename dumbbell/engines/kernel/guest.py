"""Boots a guest: one run of the kernel in a folder, which holds its script and takes its results.

Several threads may boot guests at once. A guest does not outlive the process that booted it.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dumbbell.engines.kernel import diagnosis
from dumbbell.engines.kernel.binary import HOW_TO_BUILD, Binary
from dumbbell.engines.kernel.diagnosis import Ending
from dumbbell.errors import EnvironmentFault

MEMORY = "256M"
PROBE_TIME_LIMIT_S = 60.0
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
# Nothing here depends on the run, its folder or the user: the kernel mixes its command line into its random numbers.
_ARGUMENTS = (
    "root=/dev/root",
    "rootfstype=hostfs",
    "rootflags=/proc/self/cwd",
    "rw",
    "init=/agent",
    "time-travel=inf-cpu",
    "time-travel-start=1700000000000000000",
    "con=null",
    "con0=null,fd:1",
    "quiet",
)
_AGENT, _HOST_ROOT, _STATE = "agent", "host", ".uml"
"""What the guest needs in its folder besides the script; removed afterwards."""
_CONSOLE_BYTES = 64 << 10
"""Kept of what the guest prints."""
_LOOK_S = 0.5
"""Between looks at whether a guest that prints nothing is alive."""


def boot(binary: Binary, folder: Path, *, seed: int = 1, timeout_s: float, memory: str = MEMORY) -> float:
    """Runs a guest to its end; returns the CPU seconds that it took.

    Args:
        binary: The kernel and its programs.
        folder: Where the agent finds `script` and what it names, and writes its results. Without a script the guest starts and stops.
        seed: Of the guest's random numbers.
        timeout_s: Host time after which a guest counts as hanging.
        memory: Of the guest, as in `256M`.

    Raises `EnvironmentFault`, in one line, if the guest does not get to its end.
    """
    place = _memory_folder(int(memory[:-1]) * _UNITS[memory[-1]])
    with _prepared(folder, binary):
        ending = _run(binary, folder, place, seed, timeout_s, memory)
        if fault := diagnosis.fault(ending, folder):
            raise EnvironmentFault(fault)
    return ending.cpu_s


def boot_time(binary: Binary) -> float:
    """Boots a guest that has nothing to do; the host's seconds that it took. Raises `EnvironmentFault`."""
    with tempfile.TemporaryDirectory(prefix="dumbbell-probe-") as folder:
        began = time.monotonic()
        boot(binary, Path(folder), timeout_s=PROBE_TIME_LIMIT_S)
        return time.monotonic() - began


def probe(binary: Binary) -> str | None:
    """Why no guest can be booted here; None if one can."""
    try:
        boot_time(binary)
    except EnvironmentFault as fault:
        return str(fault)
    return None


def _memory_folder(size: int) -> Path:
    """The folder for the file that is the guest's memory: the first that has room and is not mounted noexec; those in memory come first."""
    places = [Path("/dev/shm"), Path(os.environ.get("XDG_RUNTIME_DIR", "/dev/shm")), Path(tempfile.gettempdir())]
    refused = []
    for place in dict.fromkeys(places):
        if not os.access(place, os.W_OK | os.X_OK):
            refused.append(f"{place} is not writable")
            continue
        facts = os.statvfs(place)
        if facts.f_flag & os.ST_NOEXEC:
            refused.append(f"{place} is mounted noexec")
        elif (free := facts.f_bavail * facts.f_frsize) < size:
            refused.append(f"{place} has {free / 1e6:.0f} MB free")
        else:
            return place
    expected = f"expected {size / 1e6:.0f} MB in a folder that is not mounted noexec (TMPDIR names another)"
    raise EnvironmentFault(f"no room for a guest's memory: {', '.join(refused)}; {expected}")


@contextlib.contextmanager
def _prepared(folder: Path, binary: Binary) -> Iterator[None]:
    """Puts what the guest needs into its folder, and removes it afterwards."""
    agent, host = folder / _AGENT, folder / _HOST_ROOT
    try:
        _link(binary.agent, agent)
        host.mkdir()
        yield
    except OSError as error:
        raise EnvironmentFault(f"{error.filename or folder}: {error.strerror}") from error
    finally:
        agent.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            host.rmdir()
        shutil.rmtree(folder / _STATE, ignore_errors=True)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or hard links to it are forbidden
        shutil.copy(source, target)


def _run(binary: Binary, folder: Path, place: Path, seed: int, timeout_s: float, memory: str) -> Ending:
    if not binary.linux.is_file():
        raise EnvironmentFault(f"{binary.linux}: is not there; {HOW_TO_BUILD}")
    command = [str(binary.launcher), str(os.getpid()), str(binary.linux), f"mem={memory}", *_ARGUMENTS]
    # A guest keeps its memory in a file without a name in TMPDIR, and its state in HOME.
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": str(place), "DUMBBELL_SEED": str(seed), "HOME": "."}
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    console = _Console()
    try:
        in_time = console.follow(process, time.monotonic() + timeout_s)
    finally:
        # Before it is waited for: until then the number of the process group cannot be another's.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.stdout is not None  # a pipe
        process.stdout.close()
    return Ending(process.returncode, None if in_time else timeout_s, console.text(), used.ru_utime + used.ru_stime)


@dataclass
class _Console:
    """The end of what a guest prints."""

    _kept: bytearray = field(default_factory=bytearray)

    def follow(self, process: subprocess.Popen[bytes], deadline: float) -> bool:
        """Reads until the guest ends; False if it does not do so in time. The process is not reaped."""
        assert process.stdout is not None  # a pipe
        stream = process.stdout.fileno()
        while (left := deadline - time.monotonic()) > 0:
            if select.select([stream], [], [], min(left, _LOOK_S))[0]:
                if not (read := os.read(stream, _CONSOLE_BYTES)):
                    return _ended(process, deadline)
                self._kept += read
                del self._kept[:-_CONSOLE_BYTES]
            elif _is_over(process):
                return True
        return False

    def text(self) -> str:
        """What is kept."""
        return self._kept.decode(errors="replace")


def _is_over(process: subprocess.Popen[bytes]) -> bool:
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _ended(process: subprocess.Popen[bytes], deadline: float) -> bool:
    """Waits for a process that has closed its console."""
    while not _is_over(process):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True
