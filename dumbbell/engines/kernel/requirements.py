"""Requirements of building the kernel."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from dumbbell.engines.kernel.series import Series
from dumbbell.errors import EnvironmentFault

_SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Folders with ip and tc, which are not in the PATH of every user."""
LEAST_DISK = 1_000_000_000
"""Required disk space, bytes. Sources, objects and the binary take less than 650 MB during the build."""


def search_path() -> str:
    """The PATH, extended by the folders of system programs."""
    return os.pathsep.join((os.environ.get("PATH", os.defpath), *_SYSTEM_FOLDERS))


def check(folder: Path, wanted: Series, has_sources: bool = True, sets: Sequence[str] = ()) -> None:
    """Raises `EnvironmentFault` with everything that is missing.

    Args:
        folder: Where it is to be built; must exist.
        wanted: The series.
        has_sources: False if the kernel's sources were not found.
        sets: Sets of further changes.
    """
    if platform.machine() not in ("x86_64", "AMD64"):
        raise EnvironmentFault(f"the engine kernel needs an x86-64 machine; this is {platform.machine()}")
    needs = [wanted.needs.get(name, {}) for name in sets]
    tools = {**wanted.tools, **{tool: package for each in needs for tool, package in each.get("tools", {}).items()}}
    missing = {tool: package for tool, package in tools.items() if shutil.which(tool, path=search_path()) is None}
    headers = {header: package for each in needs for header, package in each.get("headers", {}).items()}
    if "gcc" not in missing:
        missing |= {header: package for header, package in headers.items() if not _compiles(f"#include <{header}>\n", "-fsyntax-only")}
    if "gcc" not in missing and not _links_statically():
        missing["a static C library"] = "libc6-dev"
    if not has_sources:
        place = f"/usr/src/{wanted.package}.tar.xz"
        missing[f"the sources of Linux {wanted.version} ({place}, or --source FILE, or --fetch)"] = wanted.package
    problems = []
    if missing:
        packages = " ".join(dict.fromkeys(missing.values()))
        problems.append(f"not found: {', '.join(missing)} (on Debian or Ubuntu: apt-get install {packages})")
    if (free := shutil.disk_usage(folder).free) < LEAST_DISK:
        problems.append(f"{folder}: {free / 1e9:.1f} GB free, expected {LEAST_DISK / 1e9:.1f} GB")
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:
        problems.append(f"{folder}: mounted noexec; XDG_CACHE_HOME chooses another folder")
    if any(character in str(folder) for character in " \t:"):
        problems.append(f"{folder}: a kernel cannot be built below a path with a blank or colon; XDG_CACHE_HOME chooses another")
    if problems:
        raise EnvironmentFault(f"the kernel cannot be built here: {'; '.join(problems)}")


def _links_statically() -> bool:
    return _compiles("#include <stdio.h>\nint main(void) { return 0; }\n", "-static", "-o", "/dev/null")


def _compiles(program: str, *options: str) -> bool:
    command = ["gcc", *options, "-x", "c", "-"]
    return subprocess.run(command, input=program.encode(), capture_output=True, check=False).returncode == 0
