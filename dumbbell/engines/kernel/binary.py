"""The built kernels in the cache, which guests run.

A built kernel is a folder named by its key (source, patches, configuration, compiler) with `linux` and `build.json`. It is created
atomically, by a rename. A name that the user gave is a file in `names` with the key of the kernel that has it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dumbbell.engines.kernel.series import DEFAULT, Series, series, versions
from dumbbell.engines.linux import cache, programs
from dumbbell.engines.linux.versions import numbers
from dumbbell.errors import BadInput, EnvironmentFault, nearest, one_of
from dumbbell.files import read_json

LINUX, DESCRIPTION = "linux", "build.json"
NAMES, KEPT = "names", "objects"
"""Folders of the cache: the names of kernels; sources and objects that the next build of a tree begins with."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
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
    sets: tuple[str, ...] = ()
    """Sets of further changes of the series that it has."""


@dataclass(frozen=True)
class Built:
    """A kernel in the cache."""

    folder: Path
    description: dict[str, Any] = field(repr=False)
    """The contents of its `build.json`."""

    @property
    def key(self) -> str:
        """Its key."""
        return self.folder.name

    @property
    def version(self) -> str:
        """Its version, such as 6.12.117."""
        return str(self.description["version"])

    @property
    def series(self) -> str:
        """The series whose patches and configuration it was built with."""
        return str(self.description.get("series", DEFAULT))

    @property
    def is_plain(self) -> bool:
        """True if it is Linux of its series, without changes of the user's."""
        return not self.description.get("own")

    @property
    def lacks(self) -> tuple[str, ...]:
        """Lines of the series' configuration that its sources do not have."""
        return tuple(self.description.get("lacks", ()))

    @property
    def sets(self) -> tuple[str, ...]:
        """Sets of further changes of the series that it has."""
        return tuple(self._sets)

    @property
    def _sets(self) -> Mapping[str, str]:
        """Name of a set -> hash of what it was when the kernel was built."""
        found: Mapping[str, str] = (self.description.get("own") or {}).get("with", {})
        return found

    @property
    def is_current(self) -> bool:
        """True if it was built with the patches and the configuration that this package has for its series and its sets."""
        if self.series not in versions():
            return False
        wanted = series(self.series)
        same = all(name in wanted.sets and wanted.recipe_of(name) == recipe for name, recipe in self._sets.items())
        return same and self.description.get("recipe") == wanted.recipe


def describe(folder: Path) -> dict[str, Any] | None:
    """The contents of a built kernel's `build.json`; None if the folder has no kernel."""
    try:
        description = read_json(folder / DESCRIPTION)
    except (OSError, ValueError):
        return None
    return description if isinstance(description, dict) and (folder / LINUX).is_file() else None


def everything() -> list[Built]:
    """All kernels in the cache, newest version first."""
    try:
        folders = sorted(cache.folder().iterdir())
    except OSError:
        return []
    found = [Built(folder, described) for folder in folders if (described := describe(folder)) is not None]
    return sorted(found, key=lambda each: numbers(each.version), reverse=True)


def built(wanted: Series | None = None) -> list[Built]:
    """The kernels of a series in the cache that were built with this package's patches and configuration, newest version first."""
    found = series() if wanted is None else wanted
    recipe = found.recipe
    return [each for each in everything() if each.is_plain and each.series == found.version and each.description.get("recipe") == recipe]


def names() -> dict[str, str]:
    """The names that users gave, each with the key of its kernel, in order."""
    folder = cache.folder() / NAMES
    found = {}
    with contextlib.suppress(OSError):
        for file in sorted(folder.iterdir()):
            with contextlib.suppress(OSError):
                found[file.name] = file.read_text(encoding="ascii").strip()
    return found


def check_name(name: str) -> None:
    """Raises `BadInput` unless a kernel may be called so."""
    if not NAME.fullmatch(name) or len(name) > 100:
        raise BadInput(f"--name {name!r}: expected letters, digits and . _ + - that begin with a letter or a digit")
    if re.fullmatch(r"\d+\.\d+", name):
        raise BadInput(f"--name {name}: is the name of a series; expected another, such as {name}-mine")


def give_name(name: str, key: str) -> None:
    """Let the kernel with this key have a name, which another may have had."""
    folder = cache.folder() / NAMES
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f".{name}"
    file.write_text(f"{key}\n", encoding="ascii")
    os.replace(file, folder / name)


def named(name: str) -> Built | None:
    """The kernel of a name in the cache: of a series, plain and newest, or of one that the user gave; None if there is none."""
    if name in versions():
        return next(iter(built(series(name))), None)
    if (key := names().get(name)) is None or (described := describe(cache.folder() / key)) is None:
        return None
    return Built(cache.folder() / key, described)


def unknown(name: str) -> BadInput:
    """The error for a name that no kernel has."""
    version, _, rest = name.partition("-")
    if version in versions() and rest in series(version).sets:
        which = "" if version == DEFAULT else f" --series {version}"
        return BadInput(f"kernel {name!r} is not built; `dumbbell kernel build{which} --with {rest}` builds it")
    known = [*versions(), *names()]
    return BadInput(f"kernel {name!r} is unknown{nearest(name, known)}; expected {one_of(known)}, or `dumbbell kernel build --name {name}`")


def find(name: str = DEFAULT) -> Binary:
    """The kernel of that name in the cache; compiles the agent if its sources have changed. Raises `EnvironmentFault`, `BadInput`."""
    found = named(name)
    if found is None:
        if name not in versions():
            raise unknown(name)
        how = HOW_TO_BUILD if name == DEFAULT else f"`dumbbell kernel build --series {name}` builds it"
        which = "" if name == DEFAULT else f" of the series {name}"
        raise EnvironmentFault(f"the engine kernel has no kernel{which} in {cache.folder()}; {how}")
    if not found.is_current:
        what = f"the kernel {name} was built by another version of dumbbell, with other changes"
        raise EnvironmentFault(f"{what}; `dumbbell kernel build --name {name}`, with the options that it was built with, builds it again")
    agent, launcher = programs.agent(), programs.launcher()
    return Binary(
        linux=found.folder / LINUX,
        version=found.version,
        config_hash=found.description["config_hash"],
        key=found.key,
        agent=agent.path,
        agent_hash=agent.key,
        launcher=launcher.path,
        sets=found.sets,
    )


def remove(wanted: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Remove kernels by name or key, a series with all its plain kernels. Yields what was removed as (name, key). Raises `BadInput`, before
    anything is removed, if one is not there."""
    chosen: dict[str, Built] = {}
    by_name = names()
    for name in wanted:
        found = [each for each in everything() if each.key == by_name.get(name, name) or (each.is_plain and each.series == name)]
        if not found and name not in by_name:
            known = [*by_name, *(each.key for each in everything())]
            raise BadInput(
                f"kernel {name!r} is not there{nearest(name, known)}; expected {one_of(known) if known else 'nothing, as none is built'}"
            )
        chosen |= {each.key: each for each in found}
    for name, key in by_name.items():
        if name in wanted or key in chosen:
            (cache.folder() / NAMES / name).unlink(missing_ok=True)
            yield name, key
    left = set(names().values())
    for key, each in chosen.items():
        # A second name may still need it.
        if key not in left:
            shutil.rmtree(each.folder, ignore_errors=True)
            yield "", key


def remove_objects() -> bool:
    """Remove what the next build of a tree would begin with. Returns True if there was something."""
    folder = cache.folder() / KEPT
    there = folder.exists()
    shutil.rmtree(folder, ignore_errors=True)
    return there


def kept_bytes() -> int:
    """Disk space of what the next build of a tree would begin with."""
    found = (Path(folder) / name for folder, _, files in os.walk(cache.folder() / KEPT) for name in files)
    return sum(file.lstat().st_blocks * 512 for file in found)
