"""Runs on this machine: the agent with all hosts and ports in namespaces of its own, of which nothing is left, however it ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

from dumbbell.engines.linux import programs
from dumbbell.engines.testbed.lateness import Lateness
from dumbbell.engines.testbed.session import Agent, Times, conduct
from dumbbell.engines.testbed.transport.base import MachineFault
from dumbbell.engines.testbed.transport.local import LocalMachine
from dumbbell.errors import EnvironmentFault
from dumbbell.scenario.ready_made import PACKAGES

MACHINE = "here"
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
"""Folders in which the agent looks for programs (program.c)."""
_LATENESS_MS = 1000
"""Duration of the measurement of late timers."""
LEAD_S = 0.1
"""Time from when all is set up to time 0."""
_AS_ROOT = ("unshare", "--user", "--map-root-user")
"""Command that makes an ordinary user root of namespaces of their own."""


@cache
def lateness() -> Lateness:
    """Measured once by a process. Raises `EnvironmentFault` if there is no agent."""
    command = [str(programs.agent().path), "lateness", str(_LATENESS_MS)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    try:
        return Lateness.read(done.stdout)
    except ValueError:
        said = (done.stderr or done.stdout).strip() or "no message"
        raise EnvironmentFault(f"{MACHINE}: the agent does not measure timers: {said}") from None


def require() -> None:
    """Raises `EnvironmentFault` in one line if no namespaces can be made here."""
    prefix = _prefix()
    command = [*prefix, "unshare", "--net", "--mount", "true"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    except OSError as error:
        raise EnvironmentFault(
            f"{MACHINE}: {command[0]} cannot be run ({error.strerror}); on Debian or Ubuntu: apt-get install util-linux"
        ) from None
    if done.returncode:
        said = done.stderr.strip() or "no message"
        raise EnvironmentFault(f"{MACHINE}: network namespaces cannot be made ({said}); expected root, or user namespaces allowed")


def require_programs(names: Collection[str]) -> None:
    """Raise `EnvironmentFault` with a line for each program that is not installed, or is not of the needed kind."""
    lacking = [name for name in sorted(names) if shutil.which(name, path=_PATH) is None]
    faults = [f"{MACHINE}: {name} is not installed; on Debian or Ubuntu: apt-get install {PACKAGES[name]}" for name in lacking]
    if "vsftpd" in names and os.geteuid():
        faults.append(f"{MACHINE}: vsftpd becomes another user, which takes root")
    if faults:
        raise EnvironmentFault("\n".join(faults))


def run(folder: Path, times: Times) -> dict[str, Any]:
    """Carries out the script in a folder, where the results are then. Returns facts of the machine; raises `EnvironmentFault`."""
    agent = asyncio.run(_run(folder, times))
    return {"release": platform.release(), "agent": programs.agent().key, "prompt": agent.prompt, "timers": lateness().plain()}


async def _run(folder: Path, times: Times) -> Agent:
    machine = LocalMachine(MACHINE, _prefix())
    try:
        agent = Agent(MACHINE, await machine.start([str(programs.agent().path), "local", str(folder)]), has_ports=True)
        await conduct([agent], times)
    except MachineFault as fault:
        raise EnvironmentFault(why(folder) or str(fault)) from None
    finally:
        await machine.close()
    return agent


def why(folder: Path) -> str | None:
    """Return the agent's message about its failure, with the message of the program that failed. For tc and ip, only the line that
    failed."""
    with contextlib.suppress(OSError):
        error = (folder / "error").read_text(encoding="utf-8", errors="replace").strip()
        log = folder / "log"
        said = log.read_text(encoding="utf-8", errors="replace").strip() if log.is_file() else ""
        if found := re.search(r"(?:Error: )?([^\n]*)\n(?:[^\n]*\n)*?Command failed (\S+):(\d+)", said):
            line = (folder / found[2]).read_text(encoding="utf-8").splitlines()[int(found[3]) - 1]
            return f"{MACHINE}: {line}: {found[1].rstrip('.')}{_remedy(line, found[1])}"
        return f"{MACHINE}: {error}" + (f"; the log ends in: {said.splitlines()[-1].strip()}" if said else "")
    return None


def _remedy(line: str, said: str) -> str:
    """Return a remedy if the kernel lacks a part."""
    if "is unknown" in said and (kind := re.match(r"qdisc add dev \S+ (?:root|parent \S+) (?:handle \S+ )?(\S+)", line)):
        return f"; this machine's kernel has no {kind[1]}, expected the module sch_{kind[1]}, or other machines (--hosts)"
    if "classifier" in said or "action" in said:
        return "; expected the modules cls_flower, cls_matchall and act_mirred, or other machines (--hosts)"
    return ""


def _prefix() -> tuple[str, ...]:
    return () if os.geteuid() == 0 else _AS_ROOT
