"""The packs of a store: which there are, and which run is in which."""

from __future__ import annotations

import os
import re
import time
import warnings
from pathlib import Path

from dumbbell.errors import DamagedRunWarning
from dumbbell.results.pack import Pack

PACKS = "packs"
_ID = re.compile(r"[0-9a-f]{32}")
_SETTLED_NS = 10**8
"""After this time another change of a folder has another time of modification (the kernel's clock of files has ticks of 10 ms at most)."""


def has_packs(folder: Path) -> bool:
    """Whether a folder holds packs, by their names."""
    return folder.is_dir() and any(_ID.fullmatch(name) for name in os.listdir(folder))


class Packs:
    """The packs in a store's folder, as far as they have been read. Another process may add some at any time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / PACKS
        self._packs: dict[str, Pack] = {}
        self._of: dict[str, Pack] = {}
        """By key."""
        self._seen_ns = -1
        """When the folder had changed before it was read; -1 if it has to be read again."""

    def find(self, key: str) -> Pack | None:
        """The pack that a run is in. Raises `BadInput` if a later version wrote a pack."""
        if key not in self._of:
            self.refresh()
        return self._of.get(key)

    def all(self) -> list[Pack]:
        """All packs, in the order of their ids."""
        self.refresh()
        return list(self._packs.values())

    def keys(self) -> list[str]:
        """The keys of all runs in packs."""
        self.refresh()
        return list(self._of)

    def refresh(self) -> None:
        """Reads the list of packs again if it changed."""
        try:
            changed_ns = os.stat(self.path).st_mtime_ns
            if changed_ns == self._seen_ns:
                return
            ids = sorted(name for name in os.listdir(self.path) if _ID.fullmatch(name))
        except OSError:
            changed_ns, ids = -1, []
        self._seen_ns = changed_ns if time.time_ns() - changed_ns > _SETTLED_NS else -1
        if list(self._packs) == ids:
            return
        self._packs = {name: self._packs.get(name) or Pack(self.path / name) for name in ids}
        self._of = {}
        for pack in self._packs.values():
            if not pack.keys:
                warnings.warn(pack.damage, DamagedRunWarning, stacklevel=3)  # nobody knows which runs it has
            for key in pack.keys:
                there = self._of.get(key)
                if there is None or (there.damage and not pack.damage):  # two packs only have a run if one of them was damaged
                    self._of[key] = pack
