"""Measures a Parquet file before a reader unpacks it: a file of 200 kB can hold 20 million rows, or 2 GB of one letter.

A reader allocates as much memory as the heads of the pages say. This module therefore reads the head of each page, not only the footer.
Both are in Thrift's compact protocol; the fields are those of parquet-format's parquet.thrift.
"""

from __future__ import annotations

from mmap import mmap
from typing import Any

MOST_VALUES = 25_000_000
"""Maximum number of values of a file, all columns together; the largest pack has 20 million."""
MOST_BYTES = 512 << 20
"""Maximum size of the unpacked pages of a file."""
_EACH_BYTE = 40, 400
"""Values, and unpacked bytes, that a byte of a larger file may hold."""
_MAGIC = b"PAR1"
_TAIL = 8
_TRUE, _FALSE, _BYTE, _I64, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 6, 7, 8, 9, 10, 12
_SIZES = {_TRUE: 0, _FALSE: 0, _BYTE: 1, _DOUBLE: 8}
_LONG = 15
"""In the head of a list: its length follows."""
_DEEPEST = 16


def check_extent(content: bytes | mmap) -> None:
    """Raises `ValueError` with the reason if a file holds more than it may, or says nothing of it that can be understood."""
    try:
        values, unpacked = _extent(content)
    except (IndexError, KeyError, TypeError, AttributeError):
        raise ValueError("is no Parquet file, or truncated or changed") from None
    least = (MOST_VALUES, MOST_BYTES)
    for found, most, each, what in zip((values, unpacked), least, _EACH_BYTE, ("values", "bytes"), strict=True):
        if found > max(most, each * len(content)):
            raise ValueError(f"holds {found} {what} in {len(content)} bytes, which is more than dumbbell writes")


def _extent(content: bytes | mmap) -> tuple[int, int]:
    """Values and unpacked bytes of the pages of a file."""
    end = len(content) - _TAIL
    begin = end - int.from_bytes(content[max(end, 0) : end + 4], "little")
    if begin < 0 or content[end + 4 :] != _MAGIC:
        raise IndexError
    footer, _ = _struct(content, begin)
    said = values = unpacked = 0
    for group in footer[4]:
        for chunk in group[1]:
            facts = chunk[3]
            at = min(facts[9], facts.get(11) or facts[9])
            said += max(facts[5], group[3])
            beyond = at + facts[7]
            if not 0 <= at <= beyond <= end:
                raise IndexError
            while at < beyond:
                page, at = _struct(content, at)
                of_kind = page.get(5) or page.get(7) or page.get(8) or {1: 0}
                unpacked, values = unpacked + page[2], values + of_kind[1]
                if page[2] < 0 or page[3] < 0:
                    raise IndexError
                at += page[3]
    return max(said, values), unpacked


def _struct(content: bytes | mmap, at: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """The fields of a struct by number, and where it ends; of text only that it is there."""
    found: dict[int, Any] = {}
    number = 0
    while head := content[at]:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _integer(content, at)
        found[number], at = _value(content, at, head & 15, depth)
    return found, at + 1


def _value(content: bytes | mmap, at: int, kind: int, depth: int) -> tuple[Any, int]:
    """A value of a field, and where it ends."""
    if depth > _DEEPEST:
        raise IndexError
    if _BYTE < kind <= _I64:
        return _integer(content, at)
    if kind == _BINARY:
        length, at = _varint(content, at)
        return None, at + length
    if kind == _STRUCT:
        return _struct(content, at, depth + 1)
    if kind in (_LIST, _SET):
        head, at = content[at], at + 1
        count, kind = head >> 4, head & 15
        if count == _LONG:
            count, at = _varint(content, at)
        if kind in (_TRUE, _FALSE):  # a byte each
            return None, at + count
        listed = []
        for _ in range(count):
            each, at = _value(content, at, kind, depth + 1)
            listed.append(each)
        return listed, at
    return None, at + _SIZES[kind]


def _integer(content: bytes | mmap, at: int) -> tuple[int, int]:
    """A number with a sign, and where it ends."""
    number, at = _varint(content, at)
    return number >> 1 ^ -(number & 1), at


def _varint(content: bytes | mmap, at: int) -> tuple[int, int]:
    byte = number = content[at]
    shift = 0
    while byte & 128:
        at += 1
        shift += 7
        if shift > 63:
            raise IndexError
        byte = content[at]
        number += (byte - 1) << shift  # takes the mark of the byte before off, too
    return number, at + 1
