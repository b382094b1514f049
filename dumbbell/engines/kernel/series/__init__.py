"""The series of Linux that can be built, each a folder of data: `series.toml`, a configuration and changes to the sources."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.engines.linux import cache
from dumbbell.engines.linux.versions import numbers

PLACE = Path(__file__).parent
DEFAULT = "6.12"
"""The series that the engine `kernel` has unless a name says another."""
_MINORS = 20
"""Minor versions of a major one, about: 5.19 came before 6.0, 6.19 before 7.0."""


_UNSET = " is not set"
"""The end of a line of a configuration for an option that is off, which begins like a comment."""


@dataclass(frozen=True)
class Extra:
    """An optional set of changes to a series, which `--with NAME` asks for."""

    name: str
    patches: tuple[Path, ...]
    """In the order in which they are applied, after those of the series."""
    config: tuple[str, ...]
    """Lines of the configuration, as kconfig writes them."""


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
    def extras(self) -> list[str]:
        """Names of the optional sets of changes: folders in `with`, each with a configuration, patches, or both."""
        return sorted(place.name for place in (self.folder / "with").glob("*") if place.is_dir())

    def extra(self, name: str) -> Extra:
        """The optional set of changes of this name, which must be one of `extras`."""
        place = self.folder / "with" / name
        fragment = place / "fragment"
        lines = fragment.read_text(encoding="utf-8").splitlines() if fragment.is_file() else []
        config = tuple(line for line in lines if line.startswith("CONFIG_") or line.endswith(_UNSET))
        return Extra(name, tuple(sorted(place.glob("*.patch"))), config)

    @property
    def recipe(self) -> str:
        """A hash of patches and configuration: what this version of the package applies to a kernel's sources."""
        return cache.digest_of_files([*self.patches, self.fragment])


def versions() -> list[str]:
    """The series that there are, oldest first."""
    return sorted((file.parent.name for file in PLACE.glob("*/series.toml")), key=numbers)


def series(version: str = DEFAULT) -> Series:
    """The series of that version, which must be one of `versions`."""
    folder = PLACE / version
    data = tomllib.loads((folder / "series.toml").read_text(encoding="utf-8"))
    foreign = tuple(data["foreign"])
    return Series(version, data["package"], data["suite"], data["objects"], foreign, data["tools"], data.get("stack", {}), folder)


def nearest(version: str) -> Series:
    """The series whose patches fit a kernel of this version best: the one with the least distance, the newer of two."""
    place = _place(version)
    return series(min(reversed(versions()), key=lambda each: abs(_place(each) - place)))


def _place(version: str) -> int:
    major, minor, *_ = numbers(version)
    return major * _MINORS + minor
