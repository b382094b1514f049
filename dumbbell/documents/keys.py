"""Dotted keys: `path.rtt`, `flows.0.cc`, `flows.*.cc`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Coordinate = str | int | float
_AS_WRITTEN = frozenset((str, int, float))
_MOST_DIGITS = 10
"""Maximum number of digits of an index in a dotted key."""


def assigned_at(node: Any, key: list[str], value: Any) -> Any:
    """Return plain data with the value at a dotted key, given as its words. It makes mappings on the way.

    The result shares everything off the way with the original. Raises `KeyError`, `IndexError` with what is wrong.
    """
    if not key:
        return value
    word, rest = key[0], key[1:]
    if isinstance(node, list):
        if word == "*":
            return [assigned_at(entry, rest, value) for entry in node]
        if not (word.isascii() and word.isdigit() and len(word) < _MOST_DIGITS and int(word) < len(node)):
            raise IndexError(f"{word!r} is not an entry of a list of {len(node)} (from 0, or * for all)")
        changed: Any = list(node)
        changed[int(word)] = assigned_at(node[int(word)], rest, value)
        return changed
    if not isinstance(node, dict):
        raise KeyError(f"{word!r} lies below a single value")
    return {**node, word: assigned_at(node.get(word, {}), rest, value)}


def covers(key: str, location: Sequence[str | int]) -> bool:
    """True if a dotted key sets the setting at `location`, or something in it."""
    index = 0
    for word in key.split("."):
        while index < len(location) and word not in ("*", str(location[index])):
            index += 1  # the branch of a union, which the key does not name
        if index == len(location):
            return False
        index += 1
    return True


def values_at(node: Any, key: str) -> list[Any]:
    """Return the values of plain data at a dotted key: one, with `*` one for each entry, none if there is no such key."""
    nodes = [node]
    for word in key.split("."):
        below: list[Any] = []
        for each in nodes:
            if isinstance(each, list):
                below += each if word == "*" else each[int(word) : int(word) + 1] if word.isascii() and word.isdigit() else []
            elif isinstance(each, dict) and word in each:
                below.append(each[word])
        nodes = below
    return nodes


def label(value: Any) -> Coordinate:
    """A sweep's value as a coordinate: numbers and text as written, the rest in one compact line."""
    if type(value) in _AS_WRITTEN:
        return value  # type: ignore[no-any-return]
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "none"
    if isinstance(value, dict):
        return " ".join(str(label(v)) if k in ("kind", "base") else f"{k}={label(v)}" for k, v in value.items())
    if isinstance(value, list):
        return " ".join(str(label(entry)) for entry in value)
    return str(value)
