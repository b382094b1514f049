"""The series of Linux that can be built, each a folder of data: `series.toml`, a configuration and changes to the sources."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.engines.linux import cache
from dumbbell.errors import BadInput, one_of

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

    @property
    def fragment(self) -> Path:
        """The configuration."""
        return self.folder / "fragment"

    @property
    def patches(self) -> list[Path]:
        """The changes to the sources, in the order in which they are applied."""
        return sorted((self.folder / "patch").glob("*.patch"))

    @property
    def extras(self) -> dict[str, Path]:
        """Changes to the sources that `kernel build --with` makes, by name."""
        return {patch.stem: patch for patch in sorted((self.folder / "patch" / "with").glob("*.patch"))}

    def extra(self, name: str) -> Path:
        """Return the change of that name. Raises `BadInput` if there is none."""
        if name not in self.extras:
            raise BadInput(f"--with {name}: unknown for Linux {self.version}; expected {one_of(self.extras)}")
        return self.extras[name]

    @property
    def recipe(self) -> str:
        """A hash of patches and configuration: what this version of the package applies to a kernel's sources."""
        files = [*self.patches, self.fragment]
        return _hash_of(tuple((file, (stat := file.stat()).st_mtime_ns, stat.st_size) for file in files))


@functools.lru_cache
def _hash_of(files: tuple[tuple[Path, int, int], ...]) -> str:
    """Return the hash of files, which are read again if their times or sizes change. Every run of the engine asks for it."""
    return cache.digest_of_files([file for file, *_ in files])


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
    return Series(version, data["package"], data["suite"], data["objects"], foreign, data["tools"], data.get("stack", {}), folder)


def nearest(version: str) -> Series:
    """The series whose patches fit a kernel of this version best: the one with the least distance, the newer of two."""
    place = _place(version)
    return series(min(reversed(versions()), key=lambda each: abs(_place(each) - place)))


def numbers(version: str) -> list[int]:
    """The numbers of a version, such as those of 6.12.117, of 7.4-rc2 or of 7.3.0+, which sort as the versions do."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return [int(part) for part in found[0].split(".")] if found else []


def _place(version: str) -> int:
    major, minor, *_ = numbers(version)
    return major * _MINORS + minor
