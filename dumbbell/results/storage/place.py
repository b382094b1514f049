"""The folder of a store: its lock, files that appear at once, and errors in one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dumbbell.errors import BadInput, EnvironmentFault
from dumbbell.files import FULL, PARTIAL, SafeFolder, expected, partial_name, temporary
from dumbbell.results.storage.locks import claim, flock, is_at, is_claimed, remove_unclaimed

STUDY = "study.json"
CLAIM = ".claim-"
CLUSTER = "cluster"
"""Claimed by a process that has runs computed by a cluster, which claims none by itself."""
PACK = "pack"
"""Claimed by a process that packs runs."""
_LOCK = ".lock"


class StoreFolder:
    """A results folder. The constructor does not access the disk."""

    def __init__(self, folder: SafeFolder) -> None:
        self.folder, self.path = folder, folder.path

    def make(self) -> None:
        """Creates the folder. Raises `BadInput` unless it is empty or a results folder."""
        with self.disk_errors():
            self.folder.make()
            names = self.folder.names()
        if STUDY not in names and any(name != _LOCK and not name.startswith(PARTIAL) for name in names):
            raise BadInput(f"{self.path}: holds other files; expected an empty folder or one written by dumbbell")

    def clear(self) -> None:
        """Removes incomplete files of crashed processes. The caller holds the exclusive lock, so nobody is writing."""
        for name in self.folder.names():
            if name.startswith(PARTIAL):
                self.folder.remove(name)
            elif name.startswith(CLAIM):
                remove_unclaimed(self.folder, name)

    def partial(self, what: str) -> Path:
        """A unique temporary name for a file or folder while it is written."""
        return self.path / partial_name(f"-{what}")

    def replace(self, name: str, content: bytes) -> None:
        """Replaces a file atomically. The caller holds the exclusive lock."""
        self.folder.replace(name, content)
        self.folder.sync()

    @contextmanager
    def claimed(self, what: str) -> Iterator[None]:
        """Reserves something for this process. Raises `BlockingIOError` at once if another process has reserved it."""
        name = f"{CLAIM}{what}"
        with expected(self.path / name):
            with self.disk_errors():
                descriptor = self._locked_file(name)
            try:
                with temporary(self.path / name):
                    yield
            finally:
                os.close(descriptor)

    def _locked_file(self, name: str) -> int:
        """Makes and locks a file; its descriptor. Raises `BlockingIOError` if another process has locked it."""
        while True:
            descriptor = self.folder.open(name, os.O_RDWR | os.O_CREAT)
            try:
                claim(descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            if is_at(descriptor, self.folder, name):
                return descriptor
            os.close(descriptor)

    def is_claimed(self, what: str) -> bool:
        """True if a name is reserved."""
        return is_claimed(self.folder, f"{CLAIM}{what}")

    def others(self, *ours: str) -> list[str]:
        """Return the names that other processes have reserved, apart from these."""
        with self.disk_errors():
            names = [name.removeprefix(CLAIM) for name in self.folder.names() if name.startswith(CLAIM)]
        return [name for name in names if name not in ours and self.is_claimed(name)]

    @contextmanager
    def locked(self, how: int) -> Iterator[None]:
        """Holds the folder's lock: LOCK_SH to write a run or a pack, LOCK_EX to change study.json or to remove files."""
        descriptor = self.folder.open(_LOCK, os.O_RDWR | os.O_CREAT)
        try:
            flock(descriptor, how)
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def disk_errors(self) -> Iterator[None]:
        """Converts `OSError` to `BadInput` or `EnvironmentFault` with a message of one line."""
        try:
            yield
        except BlockingIOError:
            raise  # another process holds the lock, which the caller handles
        except (FileExistsError, NotADirectoryError):
            raise BadInput(f"{self.path}: cannot be made, a file is in the way; expected a folder") from None
        except OSError as error:
            if error.errno in FULL:
                raise EnvironmentFault(f"{self.path}: {error.strerror}; the runs finished so far are kept") from None
            raise BadInput(f"{self.path}: cannot be written ({error.strerror}); expected a writable folder") from None


def remove_folder(place: StoreFolder, name: str) -> None:
    """Removes a folder at once, `name` as `SafeFolder` has it. The caller holds the exclusive lock."""
    with temporary(place.partial("removed")) as aside, suppress(FileNotFoundError):
        place.folder.rename(name, aside.name)
        place.folder.remove(aside.name)


def write_folder(place: StoreFolder, name: str, files: dict[str, bytes]) -> None:
    """Makes a folder with these files, which are on the disk when it returns."""
    os.mkdir(place.path / name)
    for each, content in files.items():
        place.folder.write(f"{name}/{each}", content)
    place.folder.sync(name)


def read_capture(path: Path) -> bytes:
    """The contents of a capture of a stored run, which lies in the run's folder. Raises `OSError`, `Irregular`."""
    folder = path.parent
    with SafeFolder(folder.parent).reader(f"{folder.name}/{path.name}") as file:
        return file.read()
