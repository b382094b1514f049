"""The series of Linux that can be built, each a folder of data: `series.toml`, a configuration and changes to the sources."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Series:
    """All versions of Linux whose first two numbers are the same."""

    version: str
    """These, such as 6.12."""
    package: str
    """The distribution's package with the sources."""
    objects: int
    """Number of object files, for the progress bar."""
    foreign: tuple[str, ...]
    """Files that are not unpacked, as patterns of tar."""
    tools: dict[str, str]
    """Required program -> the package of Debian and Ubuntu that contains it."""

    @property
    def fragment(self) -> Path:
        """The configuration."""
        return _HERE / self.version / "fragment"

    @property
    def patches(self) -> Path:
        """The folder of changes to the sources."""
        return _HERE / self.version / "patch"


def _read(version: str) -> Series:
    data = tomllib.loads((_HERE / version / "series.toml").read_text(encoding="utf-8"))
    return Series(version, data["package"], data["objects"], tuple(data["foreign"]), data["tools"])


BUILT = _read("6.12")
"""The series that `dumbbell kernel build` builds."""
