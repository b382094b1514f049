"""The packs of a store: which there are, and which run is in which."""

from __future__ import annotations

import fcntl
import os
import re
import time
import warnings

from dumbbell.errors import DamagedRunWarning
from dumbbell.files import SafeFolder, temporary
from dumbbell.results.storage.pack import Pack
from dumbbell.results.storage.place import StoreFolder, remove_folder, write_folder

PACKS = "packs"
_ID = re.compile(r"[0-9a-f]{32}")
_SETTLED_NS = 10**8
"""After this time another change of a folder has another time of modification (the kernel's clock of files has ticks of 10 ms at most)."""


def has_packs(folder: SafeFolder) -> bool:
    """True if a results folder holds packs, by their names."""
    try:
        return bool(_ids(folder))
    except OSError:
        return False


class Packs:
    """The packs in a store's folder, as far as they have been read. Another process may add some at any time."""

    def __init__(self, place: StoreFolder) -> None:
        self._place, self._folder, self._path = place, place.folder, place.path / PACKS
        self._packs: dict[str, Pack] = {}
        self._of: dict[str, Pack] = {}
        """By key."""
        self._seen_ns = -1
        """Time of the folder's last change before it was read; -1 if it has to be read again."""

    def find(self, key: str) -> Pack | None:
        """The pack that a run is in. Raises `BadInput` if a later version wrote a pack."""
        if key not in self._of:
            self.refresh()
        return self._of.get(key)

    def having(self, key: str) -> list[Pack]:
        """The packs that a run is in: several only if a process was killed, or one is damaged."""
        return [] if self.find(key) is None else [pack for pack in self._packs.values() if key in pack.key_set]

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
            changed_ns = os.lstat(self._path).st_mtime_ns
            if changed_ns == self._seen_ns:
                return
            is_settled = time.time_ns() - changed_ns > _SETTLED_NS
            ids = _ids(self._folder)
            while not is_settled and ids != (ids := _ids(self._folder)):
                pass  # a process that lists a folder while one pack takes the place of another may see neither
        except OSError:
            changed_ns, is_settled, ids = -1, False, []
        self._seen_ns = changed_ns if is_settled else -1
        if list(self._packs) == ids:
            return
        packs = {name: self._packs.get(name) or Pack(self._folder, f"{PACKS}/{name}") for name in ids}
        if not all(pack.keys or os.path.lexists(pack.folder) for pack in packs.values()):
            self._seen_ns = -1
            self.refresh()  # one has gone since they were listed, and its replacement may not have been there
            return
        self._packs, self._of = packs, {}
        for pack in self._packs.values():
            if not pack.keys:
                warnings.warn(pack.damage, DamagedRunWarning, stacklevel=3)  # nobody knows which runs it has
            for key in pack.keys:
                there = self._of.get(key)
                if there is None or (there.damage and not pack.damage):  # two packs only have a run if one of them was damaged
                    self._of[key] = pack

    def add(self, name: str, files: dict[str, bytes], written_ns: int | None = None) -> None:
        """Writes a pack, as `contents` makes it, unless it is there; `written_ns`: when its runs were, if not now.

        Raises `EnvironmentFault` if the disk is full, `BadInput` if it cannot be written.
        """
        place = self._place
        if os.path.lexists(self._path / name):
            return
        with place.disk_errors(), place.locked(fcntl.LOCK_SH), temporary(place.partial(name)) as half:
            write_folder(place, half.name, files)
            if written_ns is not None:
                os.utime(half, ns=(written_ns, written_ns))
            if not os.path.lexists(self._path):
                self._folder.make(PACKS)
                self._folder.sync()
            self._folder.rename(half.name, f"{PACKS}/{name}")
            self._folder.sync(PACKS)
        self.refresh()

    def remove(self, pack: Pack) -> None:
        """Removes a pack at once. Raises as `add`."""
        with self._place.disk_errors(), self._place.locked(fcntl.LOCK_EX):
            remove_folder(self._place, pack.name)
            self._folder.sync(PACKS)
        self.refresh()


def _ids(folder: SafeFolder) -> list[str]:
    return sorted(name for name in folder.names(PACKS) if _ID.fullmatch(name))
