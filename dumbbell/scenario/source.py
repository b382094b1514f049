"""Scenario files: YAML with the line of every key kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.scenario.problems import Location, Problem, ScenarioError, dotted


@dataclass(frozen=True)
class Source:
    """Where a scenario is written."""

    file: str | None
    """None for a scenario made in Python."""
    tree: Any
    """The nodes as ruamel.yaml read them, or plain data."""

    def find(self, location: Location) -> tuple[Location, int]:
        """The part of `location` that is written in the file, and its line (from 1); what it does not know is skipped.

        A validator names more than the file does (the branch of a union), so unknown parts are stepped over.
        """
        node: Any = self.tree
        line, found = _line_of(node), []
        for part in location:
            marks = getattr(node, "lc", None)
            if isinstance(node, Mapping) and part in node:
                line = marks.key(part)[0] if marks and part in marks.data else line
            elif isinstance(node, list) and isinstance(part, int) and part < len(node):
                line = marks.item(part)[0] if marks else line
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
        last = location[-1:] if location and (not found or found[-1] != location[-1]) else ()
        named = found + last if "missing" in what else found or location
        return Problem(dotted(named), what, expected, self.file, None if self.file is None else line)


def read(path: str | Path) -> tuple[Any, Source]:
    """Reads a file: plain data, and where each part of it is written.

    Raises `ScenarioError` if there is no such file or if it is not YAML.
    """
    name = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise _unreadable(name, "no such file") from None
    except IsADirectoryError:
        raise _unreadable(name, "is a folder") from None
    except UnicodeDecodeError:
        raise _unreadable(name, "is not text in UTF-8") from None
    except OSError as error:
        raise _unreadable(name, f"cannot be read ({error.strerror})") from None
    return parse(text, name)


def parse(text: str, name: str) -> tuple[Any, Source]:
    """Reads the text of a scenario file; `name` stands for it in errors. Raises `ScenarioError`."""
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import DuplicateKeyError
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        tree = YAML(typ="rt").load(text)
    except DuplicateKeyError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        key = str(error.problem).split('"')[1] if '"' in str(error.problem) else ""
        raise ScenarioError([Problem(key, "is given twice", "each key once", name, line)]) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(str(error.problem or error.context).split())
        raise ScenarioError([Problem("", what, "YAML", name, mark.line + 1 if mark else None)]) from None
    except YAMLError as error:
        what = " ".join(str(error).split())
        raise ScenarioError([Problem("", what, "YAML", name)]) from None
    if not isinstance(tree, Mapping):
        found = "is empty" if tree is None else f"holds a {'list' if isinstance(tree, list) else 'single value'}"
        raise ScenarioError([Problem("", found, "keys such as path, flows and duration", name, 1)])
    return plain(tree), Source(name, tree)


def plain(node: Any) -> Any:
    """The same data in plain dicts, lists and scalars."""
    if isinstance(node, Mapping):
        return {plain(key): plain(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [plain(value) for value in node]
    for kind in (bool, int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node


def _line_of(tree: Any) -> int:
    lc = getattr(tree, "lc", None)
    return int(lc.line) if lc is not None and lc.line is not None else 0


def _unreadable(name: str, what: str) -> ScenarioError:
    return ScenarioError([Problem("", what, "a scenario file", name)])
