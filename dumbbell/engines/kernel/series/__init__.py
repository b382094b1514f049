"""The series of Linux that can be built, each a folder of data: `series.toml`, a configuration and changes to the sources."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dumbbell.engines.linux import cache
from dumbbell.engines.linux.versions import numbers

PLACE = Path(__file__).parent
DEFAULT = "6.12"
"""The series that the engine `kernel` has unless a name says another."""
_MINORS = 20
"""Minor versions of a major one, about: 5.19 came before 6.0, 6.19 before 7.0."""


@dataclass(frozen=True)
class Series:
    """All versions of Linux whose first two numbers are the same."""

    version: str
    """These, such as 6.12."""
    package: str
    """The distribution's package with the sources."""
    suite: str
    """The release of Debian that has the package."""
    objects: int
    """Number of object files, for the progress bar."""
    foreign: tuple[str, ...]
    """Files that are not unpacked, as patterns of tar."""
    tools: Mapping[str, str]
    """Required program -> the package of Debian and Ubuntu that contains it."""
    stack: Mapping[str, Any]
    """Options of its stack whose defaults differ from those of the default series, with these defaults."""
    folder: Path
    """The folder with its data."""
    needs: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    """For a set of changes the `tools` and the `headers` of C that building it needs besides, with their packages."""

    @property
    def fragment(self) -> Path:
        """The configuration."""
        return self.folder / "fragment"

    @property
    def patches(self) -> list[Path]:
        """The changes to the sources, in the order in which they are applied."""
        return sorted((self.folder / "patch").glob("*.patch"))

    @property
    def recipe(self) -> str:
        """A hash of patches and configuration: what this version of the package applies to a kernel's sources."""
        files = [*self.patches, self.fragment]
        return _hash_of(tuple((file, (stat := file.stat()).st_mtime_ns, stat.st_size) for file in files))

    @property
    def sets(self) -> tuple[str, ...]:
        """The names of the sets of further changes that a build can ask for: a patch in `patch/with`, a folder of patches in `patch`, or a
        configuration `fragment-NAME`."""
        folders = [folder for folder in (self.folder / "patch").iterdir() if folder.is_dir() and folder.name != "with"]
        patched = {each.stem for each in (*folders, *(self.folder / "patch" / "with").glob("*.patch"))}
        return tuple(sorted(patched | {each.name.removeprefix("fragment-") for each in self.folder.glob("fragment-*")}))

    def patches_of(self, name: str) -> list[Path]:
        """Return the changes of a set, in the order in which they are applied after the others."""
        one = self.folder / "patch" / "with" / f"{name}.patch"
        return [one] if one.is_file() else sorted((self.folder / "patch" / name).glob("*.patch"))

    def config_of(self, name: str) -> list[str]:
        """Return the lines of the configuration that a set adds, of `fragment-NAME` if there is one."""
        return [line for path in self._fragment_of(name) for line in path.read_text(encoding="utf-8").splitlines() if line[:7] == "CONFIG_"]

    def recipe_of(self, name: str) -> str:
        """Return a hash of the patches and the configuration of a set."""
        return cache.digest_of_files([*self.patches_of(name), *self._fragment_of(name)])

    def _fragment_of(self, name: str) -> list[Path]:
        return [path for path in [self.folder / f"fragment-{name}"] if path.is_file()]


def versions() -> list[str]:
    """The series that there are, oldest first."""
    return sorted((file.parent.name for file in PLACE.glob("*/series.toml")), key=numbers)


def series(version: str = DEFAULT) -> Series:
    """The series of that version, which must be one of `versions`."""
    return _read(version, PLACE / version)


@functools.cache
def _read(version: str, folder: Path) -> Series:
    """Return the series in a folder. It is read once, because every run of the engine asks for it."""
    data = tomllib.loads((folder / "series.toml").read_text(encoding="utf-8"))
    foreign = tuple(data["foreign"])
    return Series(
        version,
        data["package"],
        data["suite"],
        data["objects"],
        foreign,
        data["tools"],
        data.get("stack", {}),
        folder,
        data.get("with", {}),
    )


def nearest(version: str) -> Series:
    """The series whose patches fit a kernel of this version best: the one with the smallest distance, the newer of two."""
    place = _place(version)
    return series(min(reversed(versions()), key=lambda each: abs(_place(each) - place)))


def _place(version: str) -> int:
    major, minor, *_ = numbers(version)
    return major * _MINORS + minor


@functools.lru_cache
def _hash_of(files: tuple[tuple[Path, int, int], ...]) -> str:
    """Return the hash of files, which are read again if their times or sizes change. Every run of the engine asks for it."""
    return cache.digest_of_files([file for file, *_ in files])
