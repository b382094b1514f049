"""Reading files that somebody else wrote: everything in them is checked, and an error is one line with the file and the place in it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import re
import zlib
from collections.abc import Iterator, Mapping, Sized
from pathlib import Path
from typing import Any

from dumbbell.errors import BadInput, shortened
from dumbbell.files import MOST_JSON_BYTES, parse_json, read_regular

MOST_NUMBER = 1e15
"""Maximum of a number in a measurement: 1 Pbyte, or 11 days in ns."""
MOST_TIME_S = 1e8
"""The longest run, 3 years."""
MOST_VALUES = 10_000_000
"""Values of a JSON file, or lines of a text: some 2 GB of memory."""
MOST_FLOWS = 10_000
"""Flows, queues or runs in a file."""
_MOST_UNPACKING_BYTES = 128 << 20
"""Memory that xz may take to unpack a file; its own largest preset takes 65 MiB."""
_NAME = re.compile(r"[^/\x00-\x1f\x7f]{1,100}")
_NS_PER_S = 1e9


class FilePlace:
    """A place in a file."""

    def __init__(self, file: Path, where: str = "") -> None:
        self.file = file
        self._where = where

    def at(self, *steps: str | int) -> FilePlace:
        """A place within: by keys of mappings and positions in lists."""
        where = self._where
        for step in steps:
            if isinstance(step, int):
                where += f"[{step}]"
            elif re.fullmatch(r"\w+", step):
                where += f".{step}" if where else step
            else:
                where += f"[{shortened(repr(step), 60)}]"
        return FilePlace(self.file, where)

    def line(self, number: int) -> FilePlace:
        """A line, from 1."""
        return FilePlace(self.file, f"line {number}")

    def wrong(self, what: str, expected: str) -> BadInput:
        """The error that says so."""
        where = f"{self._where}: " if self._where else ""
        return BadInput(f"{self.file}: {where}{what}; expected {expected}")

    def mapping(self, value: object) -> dict[str, Any]:
        """The value, if it is a JSON object. This and the following raise `BadInput` if not."""
        if not isinstance(value, dict):
            raise self.wrong(f"is {_shown(value)}", "an object")
        return value

    def listing(self, value: object) -> list[Any]:
        """The value, if it is a list."""
        if not isinstance(value, list):
            raise self.wrong(f"is {_shown(value)}", "a list")
        return value

    def text(self, value: object) -> str:
        """The value, if it is text."""
        if not isinstance(value, str):
            raise self.wrong(f"is {_shown(value)}", "text")
        return value

    def name(self, value: object) -> str:
        """The value, if it can be the name of a flow."""
        if not isinstance(value, str) or not _NAME.fullmatch(value) or not value.isprintable() or value != value.strip():
            raise self.wrong(f"the name {_shown(value)} cannot be that of a flow", "1 to 100 printable characters, no slash")
        return value

    def number(self, value: object, least: float = 0.0, most: float = MOST_NUMBER) -> float:
        """The value, if it is a number in this range, or text that is one."""
        try:
            number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not least <= number <= most:
            raise self.wrong(f"is {_shown(value)}", f"a number from {least:g} to {most:g}")
        return number

    def count(self, value: object) -> int:
        """The value, if it is a whole number."""
        number = self.number(value)
        if number != int(number):
            raise self.wrong(f"is {_shown(value)}", "a whole number")
        return int(number)

    def time_ns(self, value: object, zero_s: float = 0.0) -> int:
        """The value, a time in s, as ns after another one."""
        return round((self.number(value, -MOST_TIME_S + zero_s, MOST_TIME_S + zero_s) - zero_s) * _NS_PER_S)

    def few(self, found: Sized) -> None:
        """Raises `BadInput` if more flows, queues or runs were found than a file may hold."""
        if len(found) > MOST_FLOWS:
            raise self.wrong(f"has more than {MOST_FLOWS} flows, queues or runs", f"at most {MOST_FLOWS} in a file")

    def item(self, content: Mapping[str, Any], key: str) -> tuple[FilePlace, Any]:
        """Return a mapping's value of this key, and the value's place."""
        if key not in content:
            raise self.wrong(f"has no {key!r}", f"the key {key}")
        return self.at(key), content[key]


def read(file: Path) -> bytes:
    """The contents of a file, unpacked if it is packed by gzip, bzip2 or xz. Raises `BadInput`."""
    try:
        content = read_regular(file, MOST_JSON_BYTES)
        return _unpacked(content)
    except (ValueError, EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadInput(f"{file}: cannot be read ({why}); expected a file of a known format, packed or not") from None


def _unpacked(content: bytes) -> bytes:
    packed: gzip.GzipFile | bz2.BZ2File
    if content.startswith(b"\x1f\x8b"):
        packed = gzip.GzipFile(fileobj=io.BytesIO(content))
    elif content.startswith(b"BZh"):
        packed = bz2.BZ2File(io.BytesIO(content))
    elif content.startswith(b"\xfd7zXZ\x00"):
        return _within(_of_xz(content))
    else:
        return content
    with packed:
        return _within(packed.read(MOST_JSON_BYTES + 1))


def _of_xz(content: bytes) -> bytes:
    """Return the content, or enough of it to be too much. `lzma.LZMAFile` would take as much memory as the file asks for."""
    found = b""
    while content and len(found) <= MOST_JSON_BYTES:
        stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MOST_UNPACKING_BYTES)
        found += stream.decompress(content, MOST_JSON_BYTES + 1 - len(found))
        if not stream.eof and len(found) <= MOST_JSON_BYTES:
            raise EOFError("Compressed file ended before the end-of-stream marker was reached")
        content = stream.unused_data.lstrip(b"\0")  # padding between streams
    return found


def _within(found: bytes) -> bytes:
    if len(found) > MOST_JSON_BYTES:
        raise ValueError(f"has more than {MOST_JSON_BYTES >> 20} MiB once unpacked")
    return found


def parsed(content: bytes, place: FilePlace) -> Any:
    """Contents as JSON. Raises `BadInput` if they are none, or have too many values."""
    check_values(content, place)
    try:
        return parse_json(content)
    except ValueError as error:  # also of a number with thousands of digits
        raise not_json(place, error) from None


def not_json(place: FilePlace, error: Exception) -> BadInput:
    """Return the error for contents that a JSON reader rejected."""
    return place.wrong(f"is not JSON ({shortened(str(error), 100)})", "a whole JSON document")


def check_values(content: bytes, place: FilePlace) -> None:
    """Raises `BadInput` if JSON has too many values. They are counted by the characters before them, before memory is taken for any."""
    if sum(map(content.count, (b",", b"{", b"["))) > MOST_VALUES:
        raise place.wrong(f"has more than {MOST_VALUES:,} values", f"at most {MOST_VALUES:,} in a file")


def lines(content: bytes, place: FilePlace) -> Iterator[str]:
    """The lines of a text, one in memory at a time. Raises `BadInput` if there are too many, or one is not UTF-8."""
    if content.count(b"\n") > MOST_VALUES:
        raise place.wrong(f"has more than {MOST_VALUES:,} lines", f"at most {MOST_VALUES:,} in a file")
    for number, line in enumerate(io.BytesIO(content), 1):
        yield as_text(line, place.line(number)).rstrip("\r\n")


def as_text(content: bytes, place: FilePlace) -> str:
    """Contents as text. Raises `BadInput` if they are none."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise place.wrong(f"is no text (byte {error.start})", "UTF-8") from None


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return "null" if value is None else shortened(repr(value), 60)
