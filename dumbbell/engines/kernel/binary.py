"""The built kernel in the cache, which guests run.

A built kernel is a folder named by its key (source, patches, configuration, compiler) with `linux` and `build.json`. It is created
atomically, by a rename.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.engines.kernel.series import BUILT
from dumbbell.engines.linux import cache, programs
from dumbbell.errors import EnvironmentFault
from dumbbell.files import read_json

FRAGMENT, PATCHES = BUILT.fragment, BUILT.patches
LINUX, DESCRIPTION = "linux", "build.json"
HOW_TO_BUILD = "`dumbbell kernel build` (or `make kernel`) builds it"


@dataclass(frozen=True)
class Binary:
    """A kernel and the programs that run in it and start it."""

    linux: Path
    version: str
    """Version of the kernel, such as 6.12.117."""
    config_hash: str
    """Hash of the whole .config."""
    key: str
    agent: Path
    agent_hash: str
    """Hash of the agent's sources."""
    launcher: Path


def patches() -> list[Path]:
    """The patches, in the order in which they are applied."""
    return sorted(PATCHES.glob("*.patch"))


def recipe() -> str:
    """A hash of patches and configuration: what this version of the package applies to a kernel's sources."""
    return cache.digest_of_files([*patches(), FRAGMENT])


def describe(folder: Path) -> dict[str, Any] | None:
    """The contents of a built kernel's `build.json`; None if the folder has no kernel."""
    try:
        description = read_json(folder / DESCRIPTION)
    except (OSError, ValueError):
        return None
    return description if isinstance(description, dict) and (folder / LINUX).is_file() else None


def built() -> list[tuple[Path, dict[str, Any]]]:
    """The kernels in the cache that were built with this package's patches and configuration, newest version first."""
    wanted = recipe()
    try:
        folders = sorted(cache.folder().iterdir())
    except OSError:
        return []
    found = [(folder, described) for folder in folders if (described := describe(folder)) and described.get("recipe") == wanted]
    return sorted(found, key=lambda entry: [int(part) for part in entry[1]["version"].split(".")], reverse=True)


def find() -> Binary:
    """The newest kernel in the cache; compiles the agent if its sources have changed. Raises `EnvironmentFault`."""
    kernels = built()
    if not kernels:
        raise EnvironmentFault(f"the engine kernel has no kernel in {cache.folder()}; {HOW_TO_BUILD}")
    folder, description = kernels[0]
    agent, launcher = programs.agent(), programs.launcher()
    return Binary(
        linux=folder / LINUX,
        version=description["version"],
        config_hash=description["config_hash"],
        key=description["key"],
        agent=agent.path,
        agent_hash=agent.key,
        launcher=launcher.path,
    )
