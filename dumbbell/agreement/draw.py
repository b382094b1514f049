"""Random draws, each a hash of its name, so that adding a draw or an option later does not change the others."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

Option = TypeVar("Option")


class Draw:
    """Named random draws of one component. Equal paths and names give equal values on every machine."""

    def __init__(self, *path: object) -> None:
        self._path = "/".join(map(str, path))

    def at(self, *path: object) -> Draw:
        """The draws of a subcomponent with this path."""
        return Draw(self._path, *path)

    def unit(self, name: str) -> float:
        """Uniform in [0, 1)."""
        return self._hash(name) / 2**256

    def chance(self, name: str, probability: float) -> bool:
        """True with this probability."""
        return self.unit(name) < probability

    def whole(self, name: str, least: int, most: int) -> int:
        """Uniform over the whole numbers from `least` to `most`."""
        return least + int(self.unit(name) * (most - least + 1))

    def log(self, name: str, least: float, most: float) -> float:
        """Log-uniform from `least` to `most` (both above 0)."""
        return float(least * (most / least) ** self.unit(name))

    def choice(self, name: str, options: Sequence[Option]) -> Option:
        """One of several distinct options, uniformly. An option added later changes only the draws that become this option."""
        return max(options, key=lambda option: self._hash(f"{name}={option!r}"))

    def _hash(self, name: str) -> int:
        return int.from_bytes(hashlib.sha256(f"{self._path}/{name}".encode()).digest(), "big")
