"""How much a Parquet file holds once it is unpacked, which is asked before it is: 200 kB can be 20 million rows, or 2 GB of one letter.

A reader allocates what the pages say, so all pages are asked, and not the footer alone. The encoding is Thrift's compact protocol, with the
fields of parquet-format's parquet.thrift.
"""

from __future__ import annotations

from mmap import mmap
from typing import Any

MOST_VALUES = 25_000_000
"""Of a file, all columns together; a pack of the most samples has 20 million."""
MOST_BYTES = 512 << 20
"""Of the pages of a file, unpacked."""
_EACH_BYTE = 40, 400
"""Values, and unpacked bytes, that a byte of a larger file may hold."""
_MAGIC = b"PAR1"
_TAIL = 8
_TRUE, _FALSE, _BYTE, _I64, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 6, 7, 8, 9, 10, 12
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
    if end < 0 or content[end + 4 :] != _MAGIC:
        raise IndexError
    footer = _Reader(content, end - int.from_bytes(content[end : end + 4], "little"), end).struct()
    said = values = unpacked = 0
    for group in footer[4]:
        for chunk in group[1]:
            facts = chunk[3]
            start = min(facts[9], facts.get(11) or facts[9])
            reader = _Reader(content, start, start + facts[7])
            said += max(facts[5], group[3])
            while reader.at < reader.end:
                page = reader.struct()
                of_kind = page.get(5) or page.get(7) or page.get(8) or {1: 0}
                unpacked, values = unpacked + page[2], values + of_kind[1]
                reader.at += page[3]
    return max(said, values), unpacked


class _Reader:
    """Reads structs of the compact protocol from one place to another."""

    def __init__(self, content: bytes | mmap, at: int, end: int) -> None:
        if not 0 <= at <= end <= len(content):
            raise IndexError
        self.content, self.at, self.end = content, at, end

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """The fields of a struct by number; of text only that it is there."""
        if depth > _DEEPEST:
            raise IndexError
        content, number = self.content, 0
        found: dict[int, Any] = {}
        while True:
            head = content[self.at]
            self.at += 1
            if not head:
                return found
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            found[number] = self._value(head & 15, depth)

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if _BYTE < kind <= _I64:
            return self._zigzag()
        if kind == _BINARY:
            length = self._varint()
            self.at += length
            return None
        if kind in (_LIST, _SET):
            head = self.content[self.at]
            self.at += 1
            count = head >> 4 if head >> 4 < 15 else self._varint()
            return self._list(head & 15, count, depth)
        if kind == _STRUCT:
            return self.struct(depth + 1)
        self.at += {_BYTE: 1, _DOUBLE: 8}[kind]
        return None

    def _list(self, kind: int, count: int, depth: int) -> list[Any]:
        if count > self.end - self.at:
            raise IndexError
        if kind in (_TRUE, _FALSE):  # a byte each
            self.at += count
            return []
        return [self._value(kind, depth + 1) for _ in range(count)]

    def _zigzag(self) -> int:
        number = self._varint()
        return number >> 1 ^ -(number & 1)

    def _varint(self) -> int:
        content, at = self.content, self.at
        byte = content[at]
        number = byte & 127
        shift = 7
        while byte & 128:
            at += 1
            byte = content[at]
            number |= (byte & 127) << shift
            shift += 7
            if shift > 70:
                raise IndexError
        self.at = at + 1
        return number
