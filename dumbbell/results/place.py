"""The folder of a store: its lock, files that appear at once, and errors in one line."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dumbbell.errors import BadInput, EnvironmentFault
from dumbbell.files import FULL, temporary
from dumbbell.results.locks import claim, flock, is_at, is_claimed, remove_unclaimed

STUDY = "study.json"
CLAIM = ".claim-"
CLUSTER = "cluster"
"""Claimed by a process that has runs computed by a cluster, which claims none by itself."""
PACK = "pack"
"""Claimed by a process that packs runs."""
_PARTIAL, _LOCK = ".partial-", ".lock"


class Place:
    """A results folder. The constructor does not access the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def make(self) -> None:
        """Creates the folder. Raises `BadInput` unless it is empty or a results folder."""
        with self.disk_errors():
            self.path.mkdir(parents=True, exist_ok=True)
            names = os.listdir(self.path)
        if STUDY not in names and any(name != _LOCK and not name.startswith(_PARTIAL) for name in names):
            raise BadInput(f"{self.path}: holds other files; expected an empty folder or one written by dumbbell")

    def clear(self) -> None:
        """Removes incomplete files of crashed processes. The caller holds the exclusive lock, so nobody is writing."""
        for name in os.listdir(self.path):
            if name.startswith(_PARTIAL):
                left = self.path / name
                shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink(missing_ok=True)
            elif name.startswith(CLAIM):
                remove_unclaimed(self.path / name)

    def partial(self, what: str) -> Path:
        """A unique temporary name for a file or folder while it is written."""
        return self.path / f"{_PARTIAL}{secrets.token_hex(8)}-{what}"

    def replace(self, name: str, content: bytes) -> None:
        """Replaces a file atomically. The caller holds the exclusive lock."""
        with temporary(self.partial(name)) as half:
            write(half, content)
            os.replace(half, self.path / name)
        sync_folder(self.path)

    @contextmanager
    def claimed(self, what: str) -> Iterator[None]:
        """Reserves something for this process. Raises `BlockingIOError` at once if another process has reserved it."""
        path = self.path / f"{CLAIM}{what}"
        with self.disk_errors():
            descriptor = self._locked_file(path)
        try:
            with temporary(path):
                yield
        finally:
            os.close(descriptor)

    @staticmethod
    def _locked_file(path: Path) -> int:
        """Makes and locks a file; its descriptor. Raises `BlockingIOError` if another process has locked it."""
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                claim(descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            if is_at(descriptor, path):
                return descriptor
            os.close(descriptor)

    def is_claimed(self, what: str) -> bool:
        """Whether something is reserved."""
        return is_claimed(self.path / f"{CLAIM}{what}")

    def others(self, *ours: str) -> list[str]:
        """What other processes have reserved beside these."""
        with self.disk_errors():
            names = [name.removeprefix(CLAIM) for name in os.listdir(self.path) if name.startswith(CLAIM)]
        return [name for name in names if name not in ours and self.is_claimed(name)]

    @contextmanager
    def locked(self, how: int) -> Iterator[None]:
        """Holds the folder's lock: LOCK_SH to write a run or a pack, LOCK_EX to change study.json or to remove files."""
        descriptor = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
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


def remove_folder(place: Place, folder: Path) -> None:
    """Removes a folder at once. The caller holds the exclusive lock."""
    with temporary(place.partial(folder.name)) as aside, suppress(FileNotFoundError):
        os.rename(folder, aside)
        shutil.rmtree(aside)


def write_folder(path: Path, files: dict[str, bytes]) -> None:
    """Makes a folder with these files, which are on the disk when it returns."""
    os.mkdir(path)
    for name, content in files.items():
        write(path / name, content)
    sync_folder(path)


def write(path: Path, content: bytes) -> None:
    """Writes a file, which is on the disk when it returns."""
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Has the names in a folder written to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
