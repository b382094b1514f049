"""Reading and writing files with errors of one line, temporary files, the folder of the files that stay from one command to the next; and
`SafeFolder`, the one door to a folder that may come from somebody else."""

from __future__ import annotations

import errno
import io
import json
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from dumbbell.errors import BadInput, EnvironmentFault

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Errors that are the machine's fault, not the user's."""
MOST_JSON_BYTES = 256 << 20
"""Size of a JSON file; the plan of a run with 100,000 flows has some 30 MB."""
PARTIAL = ".partial-"
"""Prefix of files and folders that are not yet whole."""
_OF_FILES = frozenset(
    (".csv", ".gz", ".html", ".json", ".log", ".parquet", ".pcap", ".pcapng", ".pdf", ".png", ".qlog", ".svg", ".txt", ".xpl", ".yaml")
)
"""Endings that no folder of results has."""

_temporary: set[Path] = set()


def partial_name(what: str = "") -> str:
    """A name for a file or folder that is not yet whole, which no other has."""
    return f"{PARTIAL}{secrets.token_hex(8)}{what}"


@contextmanager
def expected(path: Path) -> Iterator[None]:
    """Let `remove_temporary_files` remove a file or folder of this path, if it exists by then, within the context."""
    new = path not in _temporary
    _temporary.add(path)
    try:
        yield
    finally:
        if new:
            _temporary.discard(path)


@contextmanager
def temporary(path: Path) -> Iterator[Path]:
    """Allow a file or folder of this path within the context; it is removed at the end, and by `remove_temporary_files`."""
    with expected(path):
        try:
            yield path
        finally:
            _remove(path)


def remove_temporary_files() -> None:
    """Removes the temporary files of this process: for a handler that ends it at once."""
    for path in tuple(_temporary):
        _remove(path)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def read_regular(path: Path, most_bytes: int) -> bytes:
    """The contents of a regular file. Raises `OSError`, or `ValueError` with the reason if it is of another kind or too large."""
    if not stat.S_ISREG(os.stat(path).st_mode) and not path.is_dir():
        raise ValueError(_IRREGULAR)
    with open(path, "rb") as file:
        return _read_at_most(file, most_bytes)


def _read_at_most(file: BinaryIO, most_bytes: int) -> bytes:
    # Not the maximum at once: that much memory would be allocated, however small the file is.
    size = min(os.fstat(file.fileno()).st_size, most_bytes) + 1
    content = file.read(size)
    if len(content) == size:  # it has grown
        content += file.read(most_bytes + 1 - size)
    if len(content) > most_bytes:
        raise ValueError(f"has more than {most_bytes >> 20} MiB")
    return content


def read_json(path: Path) -> Any:
    """The contents of a JSON file. Raises `OSError`, or `ValueError` with the reason if it is not JSON, too large or too deep."""
    return parse_json(read_regular(path, MOST_JSON_BYTES))


def parse_json(content: bytes) -> Any:
    """JSON as data. Raises `ValueError` if it is not JSON or too deep."""
    from pydantic_core import from_json

    with suppress(ValueError):  # it takes half the time, and gives the same, but rejects some texts that are JSON
        return from_json(content)
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("too many levels") from None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors within the context into one line: `EnvironmentFault` if the disk is full, otherwise `BadInput`."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise EnvironmentFault(f"{path}: {error.strerror}") from None
        raise BadInput(f"{path}: cannot be written ({error.strerror}); expected a writable folder") from None


def creatable(path: Path | None) -> Path | None:
    """The path, if something is there or can be made there; nothing stays that was made to see it. Raises `BadInput` if not."""
    if path is None:
        return None
    try:
        str(path).encode()
        there, longest = path, 0
        while not _exists(there):
            longest = max(longest, len(os.fsencode(there.name)))
            there = there.parent
        if there != path:
            os.rmdir(tempfile.mkdtemp(prefix=PARTIAL, dir=there))
            if longest > os.pathconf(there, "PC_NAME_MAX"):
                raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    except UnicodeEncodeError:
        raise BadInput(f"{path}: is not UTF-8; expected a path that is") from None
    except OSError as error:
        what = "a file is in the way" if isinstance(error, NotADirectoryError) else error.strerror
        raise BadInput(f"{path}: cannot be made ({what}); expected a path at which something can be made") from None
    return path


def creatable_folder(path: Path) -> Path:
    """Check a folder like `creatable`. A name that ends like a file's is taken for a slip if there is no such folder."""
    if path.suffix in _OF_FILES and not path.is_dir():
        raise BadInput(f"{path}: has the name of a file; expected that of a folder")
    creatable(path)
    return path


def _exists(path: Path) -> bool:
    """True if the path exists. Raises `OSError` if it cannot exist, for example because its name is too long."""
    try:
        os.stat(path)
    except FileNotFoundError:
        return path == path.parent
    except NotADirectoryError:
        return False
    return True


def write_text(path: Path, text: str) -> None:
    """Write a text file with `write_file`."""
    write_file(path, text.encode())


def write_file(path: Path, content: bytes) -> None:
    """Writes the file that a user has named, all of it or nothing, and makes its folder. A device or a pipe is written to as it is.

    Raises as `writing`, and `Irregular` for a link to a file.
    """
    with writing(path):
        if path.exists() and not path.is_file():
            path.write_bytes(content)
        elif path.is_symlink():
            raise Irregular(path, _LINK)
        else:
            SafeFolder(path.parent).replace(path.name, content)


def write_within(folder: Path, name: str, content: str | bytes) -> Path:
    """Writes a file of a folder, see `SafeFolder.replace`; its path. Raises as `writing`, and `Irregular` for a link in the folder."""
    with writing(folder / name):
        SafeFolder(folder).replace(name, content.encode() if isinstance(content, str) else content)
    return folder / name


def cache_folder(what: str) -> Path:
    """$XDG_CACHE_HOME/dumbbell or ~/.cache/dumbbell, which may not exist yet.

    Raises `EnvironmentFault`, which names `what` is to be stored there, if neither variable nor a home directory is known.
    """
    base, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
    if Path(base).is_absolute():
        return Path(base) / "dumbbell"
    if not Path(home).is_absolute():
        raise EnvironmentFault(f"no folder for {what}: expected HOME or XDG_CACHE_HOME to hold an absolute path")
    return Path(home) / ".cache" / "dumbbell"


_LINK, _IRREGULAR = "is a link", "is not a regular file"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY
_INSIDE = _FOLDER | os.O_NOFOLLOW


class Irregular(BadInput):
    """Something in a folder is a link, or neither a file nor a folder."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path}: {what}; expected the file or folder itself")
        self._path, self._what = path, what

    def what(self, path: Path) -> str:
        """The fault, for a line about the file at `path`: the file itself is irregular, or a folder above it."""
        return self._what if path == self._path else f"its folder {self._path.name} {self._what}"


class _Descriptor:
    """The descriptor of an open folder, which is closed at the end of a `with`."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> int:
        return self._number

    def __exit__(self, *_: object) -> None:
        os.close(self._number)


@dataclass(frozen=True)
class SafeFolder:
    """A folder whose contents may come from somebody else: nothing outside it is reached through it.

    The path may lead through links, because the user has chosen it. In the folder no link is followed, nothing but regular files is opened,
    and files are only made where nothing is. A name is relative to the folder, such as `packs/ID/runs.parquet`; each of its parts is opened
    from the descriptor of the one before. A link, pipe, socket or device raises `Irregular`; everything raises `OSError`.
    """

    path: Path

    def read(self, name: str, most_bytes: int = MOST_JSON_BYTES) -> bytes:
        """The contents of a file. Raises `ValueError` with the reason if it is too large."""
        with self.reader(name) as file:
            return _read_at_most(file, most_bytes)

    def reader(self, name: str) -> io.BufferedReader:
        """A file, opened for reading."""
        return os.fdopen(self.open(name), "rb")

    def open(self, name: str, flags: int = os.O_RDONLY) -> int:
        """The descriptor of a file, opened with these flags; the caller closes it."""
        above, last = self._above(name)
        with above as at:
            try:
                # Without O_NONBLOCK a pipe is waited for.
                found = os.open(last, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666, dir_fd=at)
            except OSError as error:
                raise self._refused(name, error) from None
        mode = os.fstat(found).st_mode
        if stat.S_ISREG(mode):
            return found
        os.close(found)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(self.path / name))
        raise Irregular(self.path / name, _IRREGULAR)

    def write(self, name: str, content: bytes) -> None:
        """Writes a new file, which is on the disk when it returns. Raises `FileExistsError` if something of that name is there."""
        with os.fdopen(self.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def replace(self, name: str, content: bytes) -> None:
        """Writes a file at once, in the place of one that may be there. Makes the folders that it is in."""
        above, slash, _ = name.rpartition("/")
        self.make(above)
        half = f"{above}{slash}{partial_name()}"
        with temporary(self.path / half):
            self.write(half, content)
            self.rename(half, name)

    def make(self, name: str = "") -> None:
        """Makes a folder, and those that it is in, unless it is there."""
        self.path.mkdir(parents=True, exist_ok=True)
        parts = _parts(name)
        for i, part in enumerate(parts):
            with self._opened(parts[:i]) as at, suppress(FileExistsError):
                os.mkdir(part, dir_fd=at)

    def rename(self, name: str, new: str) -> None:
        """Moves a file or folder within this one."""
        (above, last), (new_above, new_last) = self._above(name), self._above(new)
        with above as at, new_above as to:
            os.rename(last, new_last, src_dir_fd=at, dst_dir_fd=to)

    def remove(self, name: str) -> None:
        """Removes a file, or a folder with all that is in it; of a link the link. Without effect if it is not there."""
        with suppress(FileNotFoundError):
            above, last = self._above(name)
            with above as at:
                if stat.S_ISDIR(os.stat(last, dir_fd=at, follow_symlinks=False).st_mode):
                    shutil.rmtree(last, dir_fd=at)
                else:
                    os.unlink(last, dir_fd=at)

    def stat(self, name: str) -> os.stat_result:
        """The status of a file, folder or link, without following the link."""
        above, last = self._above(name)
        with above as at:
            return os.stat(last, dir_fd=at, follow_symlinks=False)

    def names(self, name: str = "") -> list[str]:
        """Return the names of the entries of the folder, or of a folder in it."""
        with self._opened(_parts(name)) as at:
            return os.listdir(at)

    def files(self, name: str) -> dict[str, os.stat_result]:
        """The regular files in a folder of it, by name. Raises `OSError` if one went meanwhile."""
        with self._opened(_parts(name)) as at:
            found = {each: os.stat(each, dir_fd=at, follow_symlinks=False) for each in os.listdir(at)}
        return {each: its for each, its in found.items() if stat.S_ISREG(its.st_mode)}

    def sync(self, name: str = "") -> None:
        """Has the names in it, or in a folder of it, written to the disk."""
        with self._opened(_parts(name)) as at:
            os.fsync(at)

    def below(self, name: str) -> Path:
        """Return the path of a folder in this one, for a `SafeFolder` of its own. The folder need not exist.

        Raises `Irregular` if a part of the path is a link.
        """
        path = self.path
        for part in _parts(name):
            path /= part
            if path.is_symlink():
                raise Irregular(path, _LINK)
        return path

    def _above(self, name: str) -> tuple[_Descriptor, str]:
        """Return the folder that an entry is in, and its name there."""
        *above, last = _parts(name)
        return self._opened(above), last

    def _opened(self, parts: list[str]) -> _Descriptor:
        """A folder in this one, opened."""
        at = -1 if parts else os.open(self.path, _FOLDER)
        for i, part in enumerate(parts):
            try:
                # The first by the path, which takes one call less: O_NOFOLLOW is about the last part of a path.
                below = os.open(part, _INSIDE, dir_fd=at) if i else os.open(f"{self.path}/{part}", _INSIDE)
            except OSError as error:
                raise self._refused("/".join(parts[: i + 1]), error) from None
            finally:
                if i:
                    os.close(at)
            at = below
        return _Descriptor(at)

    def _refused(self, name: str, error: OSError) -> Exception:
        """Return the error for a file that cannot be opened."""
        path = self.path / name
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and path.is_symlink():
            return Irregular(path, _LINK)
        return Irregular(path, _IRREGULAR) if error.errno == errno.ENXIO else error


def _parts(name: str) -> list[str]:
    """The parts of a name, none of which leads elsewhere."""
    parts = name.split("/") if name else []
    if not {"", ".", ".."}.isdisjoint(parts):
        raise ValueError(f"{name!r} is no name in a folder")
    return parts
