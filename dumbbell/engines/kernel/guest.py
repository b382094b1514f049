"""Boots a guest: one execution of the kernel, in a folder with its script, where it writes its results.

Several threads may boot guests at once. A guest is killed when the process that booted it ends.
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
from functools import partial
from pathlib import Path

from dumbbell.engines.kernel import diagnosis
from dumbbell.engines.kernel.binary import HOW_TO_BUILD, Binary
from dumbbell.engines.kernel.diagnosis import Ending
from dumbbell.errors import EnvironmentFault
from dumbbell.executor.interrupt import Aborted, abortable, is_interrupted

MEMORY = "256M"
MORE_MEMORY = ("1G", "4G")
"""For a run that does not find room in less. Not for all: the size is in the kernel's command line, and so in its random numbers."""
LARGE_MEMORY = "5G"
"""For kernels with their own sizes of buffers, which are at most 1/128 of the memory: room for the 32 MiB of Linux 7.3."""
PROBE_TIME_LIMIT_S = 60.0
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
# The same for every run, folder and user, because the kernel mixes its command line into its random numbers.
_ARGUMENTS = (
    "root=/dev/root",
    "rootfstype=hostfs",
    "rootflags=/proc/self/cwd",
    "rw",
    "init=/agent",
    "time-travel=inf-cpu",
    "con=null",
    "con0=null,fd:1",
    "quiet",
)
_BEFORE_START = _ARGUMENTS.index("con=null")
"""The place of the argument with the time of day: another order would be another seed."""
_START_NS = 1_700_000_000_000_000_000
"""Time of day at which a guest boots, 2023-11-14, unless a run says otherwise."""
_AGENT, _HOST_ROOT, _STATE = "agent", "host", ".uml"
"""Temporary files of the guest in its folder, removed afterwards."""
_CONSOLE_BYTES = 64 << 10
"""Number of bytes of the console output that are kept."""
_POLL_S = 0.5
"""Interval of checking whether a guest that prints nothing still runs."""
_KILLED_S = 1.0
"""The most to wait for the last of a killed guest's processes."""


class ShortOfMemory(EnvironmentFault):
    """A guest has too little memory for its run."""

    def __init__(self, what: str, cpu_s: float = 0.0) -> None:
        """`what` is one line; `cpu_s` what the guest had computed by then."""
        super().__init__(what)
        self.cpu_s = cpu_s


def boot(binary: Binary, folder: Path, *, seed: int = 1, timeout_s: float, memory: str = MEMORY, start_ns: int | None = None) -> float:
    """Runs a guest to its end. Returns its CPU seconds.

    Args:
        binary: The kernel and its programs.
        folder: Where the agent finds `script` and what it names, and writes its results. Without a script the guest starts and stops.
        seed: Seed of the guest's random numbers.
        timeout_s: Host time after which a guest counts as hanging, unless it has had less than that of a processor and still computes.
        memory: Memory of the guest, such as `256M`.
        start_ns: Time of day at which it boots, ns since 1970.

    Raises `EnvironmentFault` with one line if the guest does not end regularly, `ShortOfMemory` if more memory would help, and `Aborted` if
    the user interrupts.
    """
    place = memory_folder(int(memory[:-1]) * _UNITS[memory[-1]])
    with _prepared(folder, binary):
        ending = _run(binary, folder, place, seed, timeout_s, memory, _START_NS if start_ns is None else start_ns)
        if fault := diagnosis.fault(ending, folder):
            if is_interrupted():
                raise Aborted
            raise ShortOfMemory(fault, ending.cpu_s) if diagnosis.short_of_memory(ending, folder) else EnvironmentFault(fault)
    return ending.cpu_s


def boot_time(binary: Binary) -> float:
    """Boots a guest without a script. Returns the seconds of host time that it took. Raises `EnvironmentFault`."""
    with tempfile.TemporaryDirectory(prefix="dumbbell-probe-") as folder:
        began = time.monotonic()
        boot(binary, Path(folder), timeout_s=PROBE_TIME_LIMIT_S)
        return time.monotonic() - began


def probe(binary: Binary) -> str | None:
    """Why guests cannot be booted on this machine; None if they can."""
    try:
        boot_time(binary)
    except EnvironmentFault as fault:
        return str(fault)
    return None


def memory_folder(size: int) -> Path:
    """The folder for the file that backs a guest's memory: the first with enough space that is not mounted noexec, tmpfs preferred.

    Raises `EnvironmentFault`.
    """
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
    """Creates the guest's temporary files, and removes them afterwards."""
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


def _run(binary: Binary, folder: Path, place: Path, seed: int, timeout_s: float, memory: str, start_ns: int) -> Ending:
    if not binary.linux.is_file():
        raise EnvironmentFault(f"{binary.linux}: is not there; {HOW_TO_BUILD}")
    command = [
        str(binary.launcher),
        str(os.getpid()),
        str(binary.linux),
        f"mem={memory}",
        *_ARGUMENTS[:_BEFORE_START],
        f"time-travel-start={start_ns}",
        *_ARGUMENTS[_BEFORE_START:],
    ]
    # User-Mode Linux creates its memory as an unlinked file in TMPDIR, and its state folder in HOME.
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
    console, in_time = _Console(), False
    try:
        with abortable(partial(_kill_group, process.pid)):
            in_time = console.follow(process, timeout_s)
    finally:
        # Before wait4: until the process is reaped, its process group ID cannot be reused.
        _kill_group(process.pid)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.stdout is not None  # a pipe
        process.stdout.close()
        if not in_time or is_interrupted():
            _wait_for_group(process.pid)
    return Ending(process.returncode, None if in_time else timeout_s, console.text(), used.ru_utime + used.ru_stime)


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _wait_for_group(group: int) -> None:
    """Wait until the killed processes of a group have ended. Some become zombies, because in some containers nobody reaps them."""
    end = time.monotonic() + _KILLED_S
    while _lives(group) and time.monotonic() < end:
        time.sleep(0.005)


def _lives(group: int) -> bool:
    """True if a process of the group has not ended."""
    return any(state not in "ZX" for state, _ in _processes(group))


def owed_s(group: int, timeout_s: float) -> float:
    """Return how many CPU seconds a group of processes lacks of `timeout_s`; 0 if none of them computes, since more time helps none then.

    On a busy machine a guest may have had hardly any time when its limit is over.
    """
    found = list(_processes(group))
    computes = any(state == "R" for state, _ in found)
    return max(0.0, timeout_s - sum(cpu_s for _, cpu_s in found)) if computes else 0.0


def _processes(group: int) -> Iterator[tuple[str, float]]:
    """Yield the state and the CPU seconds of each process of a group."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended since
            facts = file.read_text(errors="replace").rpartition(")")[2].split()
            if int(facts[2]) == group:
                yield facts[0], (int(facts[11]) + int(facts[12])) / os.sysconf("SC_CLK_TCK")


@dataclass
class _Console:
    """The last part of a guest's console output."""

    _kept: bytearray = field(default_factory=bytearray)

    def follow(self, process: subprocess.Popen[bytes], timeout_s: float) -> bool:
        """Reads until the guest ends. Returns False if it hangs (`boot`). The process is not reaped."""
        assert process.stdout is not None  # a pipe
        stream = process.stdout.fileno()
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0 or (left := owed_s(process.pid, timeout_s)) > 0:
            deadline = max(deadline, time.monotonic() + left)
            if select.select([stream], [], [], min(left, _POLL_S))[0]:
                if not (read := os.read(stream, _CONSOLE_BYTES)):
                    return _ended(process, deadline)
                self._kept += read
                del self._kept[:-_CONSOLE_BYTES]
            elif _is_over(process):
                return True
        return False

    def text(self) -> str:
        """The kept output."""
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
