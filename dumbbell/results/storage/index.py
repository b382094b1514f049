"""The index of a store: a cache of the summary of each run. It can be deleted at any time; missing summaries are recomputed.

One line per run: key, fingerprint, checksum of the rest of the line, summary as JSON. The fingerprint covers the inputs of the summary and
the code that computed it: the bytes of run.json, which has the checksums of the Parquet files; their size and modification time; the
sources of the metrics. A line is only added for a run whose checksums are right. One with an outdated fingerprint or a wrong checksum is
ignored. Lines are only appended, each in one write, so that several processes can write; the last line of a key is valid. Ignored lines are
removed when the index is compacted.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from dumbbell.files import SafeFolder
from dumbbell.results.summary import Summary

INDEX = "index.jsonl"
_HERE = Path(__file__).parent
_SOURCES = (
    _HERE / "checksums.py",
    *(
        _HERE.parent / f"{name}.py"
        for name in ("received", "record", "responsiveness", "run", "schema", "series", "summary", "tables", "windowed")
    ),
    _HERE.parent.parent / "metrics",
)
"""The code that computes summaries: source files, and a folder of them."""
_DIGITS = 32
"""Length of a checksum, hexadecimal digits."""


@cache
def sources() -> str:
    """A hash of the code that computes summaries."""
    return _hash(*(file.read_bytes() for file in source_files()))


def source_files() -> list[Path]:
    """The source files of the code that computes summaries."""
    return [file for place in _SOURCES for file in (sorted(place.glob("*.py")) if place.is_dir() else [place])]


def fingerprint(record: bytes, files: Mapping[str, os.stat_result]) -> str:
    """The fingerprint of a run: of the bytes of its run.json, and of size and modification time of the Parquet files among `files`."""
    stats = sorted((name, stat) for name, stat in files.items() if name.endswith(".parquet"))
    return _hash(sources().encode(), record, *(f"{name} {stat.st_size} {stat.st_mtime_ns}".encode() for name, stat in stats))


class Index:
    """The index in a store's folder, as far as it has been read. An unreadable line counts as missing, and so does an unreadable file.

    Raises `Irregular` if the file is a link, or no regular file.
    """

    def __init__(self, folder: SafeFolder) -> None:
        self._folder = folder
        self._lines: dict[str, tuple[str, str]] = {}
        """Key -> (fingerprint, JSON)."""
        self._file = -1
        """Inode of the file that was read; -1 if there is none."""
        self._read = 0
        """Number of bytes read, up to the end of a line."""

    def refresh(self) -> None:
        """Reads the lines appended since the last call, or all lines if the file has been replaced."""
        try:
            with self._folder.reader(INDEX) as file:
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

    def find(self, key: str, run_fingerprint: str) -> Summary | None:
        """The summary of a run; None if it is missing or was made of another fingerprint."""
        found = self._lines.get(key)
        if found is None or found[0] != run_fingerprint:
            self.refresh()
            found = self._lines.get(key)
        if found is None or found[0] != run_fingerprint:
            return None
        try:
            return Summary.from_plain(json.loads(found[1]))
        except (ValueError, RecursionError):
            return None

    def add(self, key: str, run_fingerprint: str, summary: Summary) -> None:
        """Appends a line. The caller holds the folder's lock (shared). Raises `OSError` if it cannot be written."""
        content = json.dumps(summary.plain(), separators=(",", ":"))
        written = line(key, run_fingerprint, content)
        with os.fdopen(self._folder.open(INDEX, os.O_RDWR | os.O_APPEND | os.O_CREAT), "a+b", buffering=0) as file:
            if os.fstat(file.fileno()).st_nlink == 1:
                file.write(written)
                return
            file.seek(0)
            before = file.read()
        self._folder.replace(INDEX, before + written)  # a hard link: appended to, another folder's file would change, too

    def compacted(self, there: Iterable[str]) -> bytes | None:
        """The file's contents with only the last line of each key in `there`; None if that would not halve it.

        The caller holds the folder's lock (exclusive).
        """
        self._file = -1
        self.refresh()
        lines = [line(key, *self._lines[key]) for key in there if key in self._lines]
        content = b"".join(lines)
        outdated = self._file != -1 and self._folder.stat(INDEX).st_size > 2 * len(content)
        self._lines, self._file = {}, -1  # who asks for requests reads few summaries
        return content if outdated else None


def line(key: str, run_fingerprint: str, content: str) -> bytes:
    """A line of the file. `content` is the summary as JSON."""
    return f"{key} {run_fingerprint} {_checksum(key, run_fingerprint, content)} {content}\n".encode()


def _checked(line: bytes) -> tuple[str, str, str] | None:
    """Key, fingerprint and JSON of a line; None if its checksum is wrong."""
    try:
        key, run_fingerprint, checksum, content = line.decode().split(" ", 3)
    except ValueError:
        return None
    return (key, run_fingerprint, content) if checksum == _checksum(key, run_fingerprint, content) else None


def _checksum(key: str, run_fingerprint: str, content: str) -> str:
    return hashlib.sha256(f"{key} {run_fingerprint} {content}".encode()).hexdigest()[:_DIGITS]


def _hash(*parts: bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "little"))
        whole.update(part)
    return whole.hexdigest()[:32]
