"""Reading and writing files with errors of one line, temporary files, and the folder of what is kept from one command to the next."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dumbbell.errors import BadInput, EnvironmentFault

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Errors that are the machine's fault, not the user's."""
MOST_JSON_BYTES = 256 << 20
"""Size of a JSON file; the plan of a run with 100,000 flows has some 30 MB."""
_OF_FILES = frozenset(
    (".csv", ".gz", ".html", ".json", ".log", ".parquet", ".pcap", ".pcapng", ".pdf", ".png", ".svg", ".txt", ".xpl", ".yaml")
)
"""Endings that no folder of results has."""

_temporary: set[Path] = set()


@contextmanager
def temporary(path: Path) -> Iterator[Path]:
    """Within it a file or folder of this path may exist; it is removed at the end, and by `remove_temporary_files`."""
    _temporary.add(path)
    try:
        yield path
    finally:
        _remove(path)
        _temporary.discard(path)


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
        raise ValueError("is not a regular file")
    with open(path, "rb") as file:
        # Not the most at once: so much memory would be asked for, whatever the file has.
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

    with suppress(ValueError):  # it takes half the time, and gives the same, but refuses some texts that are JSON
        return from_json(content)
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("too many levels") from None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Creates the folder of `path`. Errors become one line: `EnvironmentFault` if the disk is full, otherwise `BadInput`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
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
            os.rmdir(tempfile.mkdtemp(prefix=".partial-", dir=there))
            if longest > os.pathconf(there, "PC_NAME_MAX"):
                raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    except UnicodeEncodeError:
        raise BadInput(f"{path}: is not UTF-8; expected a path that is") from None
    except OSError as error:
        what = "a file is in the way" if isinstance(error, NotADirectoryError) else error.strerror
        raise BadInput(f"{path}: cannot be made ({what}); expected a path at which something can be made") from None
    return path


def creatable_folder(path: Path) -> Path:
    """As `creatable`, of a folder: a name that ends as those of files do is taken for a slip if nothing is there."""
    if path.suffix in _OF_FILES and not path.is_dir():
        raise BadInput(f"{path}: has the name of a file; expected that of a folder")
    creatable(path)
    return path


def _exists(path: Path) -> bool:
    """Whether something is there. Raises `OSError` if nothing can be, as of a name that is too long."""
    try:
        os.stat(path)
    except FileNotFoundError:
        return path == path.parent
    except NotADirectoryError:
        return False
    return True


def write_text(path: Path, text: str) -> None:
    """Write a text file, and create its folder."""
    with writing(path):
        path.write_text(text, encoding="utf-8")


def write_file(path: Path, content: bytes) -> None:
    """Writes the file that a user has named: all of it or nothing, unless it is a device or a pipe. Raises as `writing`."""
    with writing(path):
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return
        with temporary(path.with_name(f".partial-{secrets.token_hex(8)}")) as half:
            half.write_bytes(content)
            half.replace(path)


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
