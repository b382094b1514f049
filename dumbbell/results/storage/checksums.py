"""Checksums of a store's files. They find files that changed on disk when the files are read.

A JSON file ends with a seal: its last entry is the SHA-256 of all bytes before that entry. For the other files of a run, its run.json has
size and SHA-256. So each file is checked by itself, without a list that several processes would have to write.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from dumbbell.errors import BadInput, DamagedRun
from dumbbell.files import Irregular, SafeFolder

_SEAL = re.compile(rb',\n "sha256": "([0-9a-f]{64})"\n}\n')
_SEAL_BYTES = len(',\n "sha256": ""\n}\n') + 64
_END = b"\n}\n"
"""The end of a JSON object as the store writes it."""


def seal(content: bytes) -> bytes:
    """The JSON object with its seal. `content` ends with a closing brace in a line of its own, as all that the store writes."""
    body = content.removesuffix(_END)
    assert body != content
    return body + f',\n "sha256": "{hashlib.sha256(body).hexdigest()}"\n}}\n'.encode()


def is_sealed(content: bytes) -> bool:
    """True if the file has a seal. Raises `ValueError` with the reason if the seal is not that of the other bytes."""
    end = content[-_SEAL_BYTES:]
    if (found := _SEAL.fullmatch(end)) is None:
        if b'"sha256": "' in end:
            raise ValueError(CHANGED)
        return False
    if hashlib.sha256(content[:-_SEAL_BYTES]).hexdigest() != found[1].decode():
        raise ValueError(CHANGED)
    return True


CHANGED = "is not as it was written (its SHA-256 differs)"


def damaged(path: Path, what: str) -> DamagedRun:
    """The error for a file of a stored run."""
    run = path.parent
    return DamagedRun(f"{path}: {what}; expected a whole run (`dumbbell check --repair {run.parent}` makes it again)", run.name)


@dataclass(frozen=True)
class StoredFile:
    """A file of a stored run, with the known facts about its contents."""

    folder: SafeFolder
    """The store's."""
    name: str
    """In that folder."""
    size: int
    sha256: str | None
    """None in a run of a format without checksums."""
    by_now: Callable[[], StoredFile | None] | None = field(default=None, compare=False, repr=False, kw_only=True)
    """Looks where the file is by now; None if it is where it was."""

    @cached_property
    def path(self) -> Path:
        """Return the path of the file."""
        return self.folder.path / self.name

    def read(self) -> bytes:
        """The contents, from wherever they were moved. Raises `DamagedRun` unless they are those that were written."""
        try:
            return self._content()
        except DamagedRun:
            if self.by_now is None or (now := self.by_now()) is None:
                raise
            return now.read()

    def _content(self) -> bytes:
        """Read the file where it was, like `read`."""
        try:
            with self.folder.reader(self.name) as file:
                self.verify_size(os.fstat(file.fileno()).st_size)
                content = file.read()
        except (OSError, Irregular) as error:
            raise unreadable(self.path, error) from None
        self._compare(len(content), None if self.sha256 is None else hashlib.sha256(content).hexdigest())
        return content

    def verify(self) -> None:
        """Raises as `read` does. Takes little memory, however large the file is."""
        if what := self.fault():
            raise damaged(self.path, what)

    def fault(self) -> str:
        """In which way it is not as it was written; empty if it is. Raises `BadInput` if it must not be read."""
        try:
            with self.folder.reader(self.name) as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
                size = file.tell()
        except Irregular as error:
            return error.what(self.path)
        except OSError as error:
            if not (what := lost(error)):
                raise unreadable(self.path, error) from None
            return what
        return self._difference(size, None if self.sha256 is None else found)

    def verify_size(self, size: int) -> None:
        """Raises `DamagedRun` if this is not the size that was written."""
        if what := self._difference(size, self.sha256):
            raise damaged(self.path, what)

    def _compare(self, size: int, sha256: str | None) -> None:
        if what := self._difference(size, sha256):
            raise damaged(self.path, what)

    def _difference(self, size: int, sha256: str | None) -> str:
        if size != self.size:
            return f"is {size} bytes long, not {self.size}: truncated or changed"
        return "" if sha256 == self.sha256 else CHANGED

    @classmethod
    def of_record(cls, folder: SafeFolder, name: str, entry: Mapping[str, Any]) -> StoredFile:
        """The file that an entry of `files` in a checked run.json is about."""
        return cls(folder, name, entry["bytes"], entry["sha256"])


def file_entry(content: bytes) -> dict[str, Any]:
    """The entry of `files` in run.json for a file with these contents."""
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def lost(error: OSError) -> str:
    """Return the reason why a file or its contents are lost; empty if they are not."""
    if isinstance(error, FileNotFoundError):
        return "no such file"
    return f"cannot be read ({error.strerror})" if error.errno == errno.EIO else ""


def unreadable(path: Path, error: OSError | Irregular) -> BadInput:
    """Return the error for a file of a stored run that cannot be read: a lost file, or one that is no file, is damage; a forbidden one is
    not."""
    if what := lost(error) if isinstance(error, OSError) else error.what(path):
        return damaged(path, what)
    assert isinstance(error, OSError)
    return BadInput(f"{path}: cannot be read ({error.strerror}); expected a readable file")
