"""Why a guest failed, in one line that says what to do."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from pathlib import Path

SCRIPT, DONE, ERROR, LOG = "script", "done", "error", "log"
"""The agent's files in the guest's folder."""
_QUOTED_LINES = 3
_ALLOW_PTRACE = "ptrace is forbidden here; allow it (a container needs SYS_PTRACE, kernel.yama.ptrace_scope must be at most 1)"
_KNOWN = (
    (r"ptrace\b.*(?:Operation not permitted|errno = 1\b)|PTRACE_TRACEME", _ALLOW_PTRACE),
    (r"must be not mounted noexec|PROT_EXEC mmap in .*\.\.\.\S", "the folder of its memory is mounted noexec; TMPDIR names another"),
    (r"set fp regs failed", "this processor has more registers than the kernel was built for; please report it with the processor's model"),
    (r"Bus error - the host", "the file system of its memory is full; make room there or run fewer at once (--workers)"),
    (r"No space left on device", "no space left for its memory or results"),
    (r"Cannot allocate memory|out of memory", "not enough memory"),
)
_CONFINED = "\nconfined "
"""Line of a script whose programs are confined: the kernel ends them before all others if it is short of memory."""
_SHORT = re.compile(r"System is deadlocked on memory|Out of memory: Killed process")


@dataclass(frozen=True)
class Ending:
    """How a guest's process ended."""

    status: int
    """Exit status of the process; if negative, the signal that killed it."""
    hung_s: float | None
    """The time limit (s of host time) that it exceeded; None if it did not."""
    console: str
    cpu_s: float = 0.0
    """CPU seconds of the guest."""


def short_of_memory(ending: Ending, folder: Path) -> bool:
    """True if the guest's own kernel ran out of the memory that it was given: it ended, ended a program, or gave a program none."""
    if _is_done(ending, folder) and _CONFINED in (_read(folder / SCRIPT) or ""):
        return False  # a program of the scenario has filled the memory, and the kernel has ended that
    return bool(_SHORT.search(ending.console)) or "Cannot allocate memory" in (_read(folder / ERROR) or "")


def fault(ending: Ending, folder: Path) -> str | None:
    """Return the fault in one line; None if the guest has carried out its script."""
    if ending.hung_s is not None:
        return _with_console(f"the guest hangs: killed after {round(ending.hung_s, 1):g} s of host time", ending)
    if short_of_memory(ending, folder):
        return _with_console("the guest has too little memory for this run: fewer flows, or smaller windows and queues, need less", ending)
    if (error := _read(folder / ERROR)) is not None:
        return f"the guest's agent: {error or 'no message'}{_log(folder)}"
    if _is_done(ending, folder) or (ending.status == 0 and not (folder / SCRIPT).is_file()):
        return None
    return _with_console(f"the guest ended before it was done: {_reason(ending)}", ending)


def _is_done(ending: Ending, folder: Path) -> bool:
    """True if the guest has carried out a script to its end."""
    return ending.status == 0 and ending.hung_s is None and (folder / DONE).is_file()


def _reason(ending: Ending) -> str:
    for pattern, reason in _KNOWN:
        if re.search(pattern, ending.console):
            return reason
    if panic := re.search(r"Kernel panic - not syncing: (.*)", ending.console):
        return f"its kernel panicked ({panic[1].strip()})"
    if ending.status < 0:
        return f"{signal.Signals(-ending.status).name}; was it killed, or is the host short of memory?"
    return f"exit status {ending.status}"


def _with_console(text: str, ending: Ending) -> str:
    lines = [line.strip() for line in ending.console.splitlines() if line.strip()][-_QUOTED_LINES:]
    return f"{text}; the console ends in: {' / '.join(lines)}" if lines else f"{text}; the console is empty"


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _log(folder: Path) -> str:
    lines = (_read(folder / LOG) or "").splitlines()
    return f"; the log ends in: {lines[-1].strip()}" if lines else ""
