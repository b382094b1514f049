"""The file of a document, and the lines of its entries."""

from __future__ import annotations

from collections.abc import Mapping as Mapping_
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dumbbell.documents.keys import covers
from dumbbell.documents.problems import Location, Problem, ScenarioError, dotted
from dumbbell.documents.yaml_reader import Mapping, Sequence, YamlError, load
from dumbbell.errors import nearest
from dumbbell.files import read_regular

MOST_BYTES = 16 << 20
"""Size of a file."""
FOLDER = "folder"
"""Validation context: the folder that paths of files are relative to; without it, the one that the program was started in."""
CHANGES = "changes"
"""Stands in for the file name in problems with changed values, unless a command names its option."""
_AROUND = 60
"""Characters that are shown on either side of an error of syntax."""


@dataclass(frozen=True)
class Kind:
    """Use of a file, as errors name it."""

    name: str
    keys: str
    """Some keys that it begins with."""


@dataclass(frozen=True)
class Source:
    """File and data of a document."""

    file: str | None
    """None for settings made in Python."""
    tree: Any
    """The result of `yaml_reader.load`, or plain data."""
    changes: Mapping_[str, Any] = field(default_factory=dict)
    """Values that were given in addition to the file, by dotted key."""
    changed_by: str = CHANGES
    """The option that changed the values, for errors."""

    @property
    def context(self) -> dict[str, Any]:
        """Return the context that reading a document depends on: paths in it are relative to the folder of its file."""
        return {FOLDER: Path(self.file).parent} if self.file else {}

    def find(self, location: Location) -> tuple[Location, int]:
        """Return the part of `location` that is written in the file, and its line (from 1). Unknown parts are skipped.

        A validator names more than the file does (the branch of a union), so unknown parts are stepped over.
        """
        node: Any = self.tree
        line, found = getattr(node, "line", 0), []
        for part in location:
            if isinstance(node, dict) and part in node:
                line = node.lines.get(str(part), line) if isinstance(node, Mapping) else line
            elif isinstance(node, list) and isinstance(part, int) and part < len(node):
                line = node.lines[part] if isinstance(node, Sequence) else line
            else:
                continue
            node = node[part]
            found.append(part)
        return tuple(found), line + 1

    def problem(self, location: Location, what: str, expected: str) -> Problem:
        """A problem at the nearest place to `location` that is written; a key that is missing, or of which nothing is written, is
        named all the same.
        """
        found, line = self.find(location)
        for key, value in self.changes.items():
            if covers(key, location) or key == f"{dotted(location)}.kind":
                below = location[key.count(".") + 1 :]
                inner = _within(value, below)
                last = below[-1:] if "missing" in what and inner[-1:] != below[-1:] else ()
                return Problem(dotted((key, *inner, *last)), what, expected, self.changed_by)
            if found != tuple(location) and covers(dotted(location), key.split(".")):  # a word on the way to it
                return Problem(dotted(location), what, expected, self.changed_by)
        last = location[-1:] if location and (not found or found[-1] != location[-1]) else ()
        named = found + last if "missing" in what else found or location
        return Problem(dotted(named), what, expected, self.file, None if self.file is None else line)


def _within(value: Any, location: Location) -> Location:
    """Return the part of a location that plain data has. Unknown parts are skipped, as by `Source.find`."""
    found: list[str | int] = []
    for part in location:
        inside = value if isinstance(value, dict) else dict(enumerate(value)) if isinstance(value, list) else {}
        if part in inside:
            value = inside[part]
            found.append(part)
    return tuple(found)


def read(path: str | Path, kind: Kind) -> tuple[Any, Source]:
    """Reads a file: plain data, and the line of each part of it.

    Raises `ScenarioError` if it is not a regular file of at most `MOST_BYTES`, or not YAML.
    """
    name = str(path)
    try:
        content = read_regular(Path(path), MOST_BYTES)
        text = content.decode("utf-8")
    except FileNotFoundError:
        there = (each.name for each in Path(path).parent.glob(f"*{Path(path).suffix[:2]}*"))
        raise _unreadable(name, f"no such file{nearest(Path(path).name, there)}", kind) from None
    except IsADirectoryError:
        raise _unreadable(name, "is a folder", kind) from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _unreadable(name, f"the byte 0x{content[error.start]:02x} is not text in UTF-8", kind, line) from None
    except OSError as error:
        raise _unreadable(name, f"cannot be read ({error.strerror})", kind) from None
    except ValueError as error:
        raise _unreadable(name, str(error), kind) from None
    return parse(text, name, kind)


def parse(text: str, name: str, kind: Kind) -> tuple[Any, Source]:
    """Reads the text of a file; `name` stands for it in errors. Raises `ScenarioError`."""
    try:
        tree = load(text)
    except YamlError as error:
        shown = () if error.line is None or error.column is None else _excerpt(text, error.line, error.column)
        raise ScenarioError([Problem(error.key, error.what, error.expected, name, error.line, shown)]) from None
    if not isinstance(tree, Mapping):
        found = "is empty" if tree is None else f"holds a {'list' if isinstance(tree, list) else 'single value'}"
        raise ScenarioError([Problem("", found, f"keys such as {kind.keys}", name, 1)])
    return plain(tree), Source(name, tree)


def _excerpt(text: str, line: int, column: int) -> tuple[str, ...]:
    """Return a line (from 1) of a text, and a caret below a column (from 0); of a long line only the part around it."""
    written = (*text.split("\n")[line - 1 : line], "")[0].rstrip("\r")
    first = max(0, column - _AROUND)
    shown = "".join(each if each.isprintable() else " " for each in written[first : column + _AROUND])
    return f"    {shown.rstrip()}", f"    {' ' * (column - first)}^"


def plain(node: Any) -> Any:
    """The same data in plain dicts, lists and scalars, without shared parts."""
    if isinstance(node, dict):
        return {key: plain(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [plain(value) for value in node]
    return node


def _unreadable(name: str, what: str, kind: Kind, line: int | None = None) -> ScenarioError:
    return ScenarioError([Problem("", what, kind.name, name, line)])
