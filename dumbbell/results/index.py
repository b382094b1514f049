"""The index of a store: the summary of each run, computed once. Nothing is lost with it; what it lacks is computed again.

A line a run: key of the run, fingerprint, check sum of the rest of the line, summary as JSON. The fingerprint is of what the summary was
computed of, and of the code that did: the bytes of run.json, size and time of the tables beside it, the sources of the metrics. A line
that does not have the fingerprint of what lies in the store now, or that does not have its own check sum, is as good as none. Lines are
only appended, each in one write, so that several processes can write; of a key the last one holds. What became useless is left out when
the index is made anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from dumbbell.results.summary import Summary

INDEX = "index.jsonl"
_ROOM = Path(__file__).parent
_SOURCES = (*(_ROOM / f"{name}.py" for name in ("record", "run", "schema", "series", "summary", "tables")), _ROOM.parent / "metrics")
"""What computes a summary: files, and a folder of them."""
_DIGITS = 16
"""Of a check sum, hexadecimal."""


@cache
def sources() -> str:
    """A hash of the code that computes summaries."""
    return _hash(*(file.read_bytes() for file in source_files()))


def source_files() -> list[Path]:
    """The files of that code."""
    return [file for place in _SOURCES for file in (sorted(place.glob("*.py")) if place.is_dir() else [place])]


def fingerprint(record: bytes, files: Iterable[os.DirEntry[str]]) -> str:
    """Of a run: the bytes of its run.json, and of its `files` those that hold its series and long tables."""
    stats = sorted((file.name, file.stat()) for file in files if file.name.endswith(".parquet"))
    return _hash(sources().encode(), record, *(f"{name} {stat.st_size} {stat.st_mtime_ns}".encode() for name, stat in stats))


class Index:
    """The index in a store's folder, as far as it has been read. Reading never fails: what cannot be read is computed again."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / INDEX
        self._lines: dict[str, tuple[str, str]] = {}
        """Key to fingerprint and JSON."""
        self._file = -1
        """Inode of the file that was read."""
        self._read = 0
        """Bytes of it, up to the end of a line."""

    def refresh(self) -> None:
        """Reads what was appended since the last time, or all if another file is there now."""
        try:
            with open(self._path, "rb") as file:
                stat = os.fstat(file.fileno())
                if stat.st_ino != self._file or stat.st_size < self._read:
                    self._lines, self._file, self._read = {}, stat.st_ino, 0
                file.seek(self._read)
                new = file.read()
        except OSError:
            self._lines, self._file, self._read = {}, -1, 0
            return
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for each in whole.split(b"\n"):
            if (parts := _checked(each)) is not None:
                self._lines[parts[0]] = parts[1:]

    def find(self, key: str, of: str) -> Summary | None:
        """The summary of a run with this fingerprint, if it is there."""
        found = self._lines.get(key)
        if found is None or found[0] != of:
            return None
        try:
            return Summary.of_plain(json.loads(found[1]))
        except (ValueError, RecursionError):
            return None

    def add(self, key: str, of: str, summary: Summary) -> None:
        """Appends a line. The caller holds the folder's lock, shared. OSError if it cannot be written."""
        content = json.dumps(summary.plain(), separators=(",", ":"))
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(descriptor, line(key, of, content))
        finally:
            os.close(descriptor)
        self._lines[key] = (of, content)

    def anew(self, there: Iterable[str]) -> bytes | None:
        """The index with nothing but the last line of each key that is `there`; None if it has few other lines.

        The caller holds the folder's lock alone.
        """
        self._file = -1
        self.refresh()
        lines = [line(key, *self._lines[key]) for key in there if key in self._lines]
        content = b"".join(lines)
        return content if self._file != -1 and os.path.getsize(self._path) > 2 * len(content) else None


def line(key: str, of: str, content: str) -> bytes:
    """A line of the file: the summary of a run with this key and fingerprint, as JSON."""
    return f"{key} {of} {_check_sum(key, of, content)} {content}\n".encode()


def _checked(line: bytes) -> tuple[str, str, str] | None:
    """Key, fingerprint and JSON of a line that is as it was written."""
    try:
        key, of, check_sum, content = line.decode().split(" ", 3)
    except ValueError:
        return None
    return (key, of, content) if check_sum == _check_sum(key, of, content) else None


def _check_sum(key: str, of: str, content: str) -> str:
    return hashlib.sha256(f"{key} {of} {content}".encode()).hexdigest()[:_DIGITS]


def _hash(*parts: bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "little"))
        whole.update(part)
    return whole.hexdigest()[:32]
