"""YAML as plain data with line numbers, within limits: the size to which a file of a few bytes may expand is bounded.

Scalars are those of YAML 1.2's core schema. Other tags, keys that are not text, and further documents are errors.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dumbbell.errors import shortened

MOST_DEPTH = 64
"""Levels of lists and mappings in each other."""
MOST_NODES = 1_000_000
"""Scalars, lists and mappings, each counted once for each alias that stands for it."""
MOST_DIGITS = 100
"""Characters of a number."""

_CORE = "tag:yaml.org,2002:"
_NULL = {"", "~", "null", "Null", "NULL"}
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"(?P<sign>[-+]?)(?:0b(?P<two>[01_]+)|0o(?P<eight>[0-7_]+)|0x(?P<sixteen>[0-9a-fA-F_]+)|(?P<ten>[0-9][0-9_]*))")
_BASES = {"two": 2, "eight": 8, "ten": 10, "sixteen": 16}
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9_]+)(?:[eE][-+]?[0-9]+)?")
_INF = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
_NAN = {".nan", ".NaN", ".NAN"}


class YamlError(Exception):
    """A file that is not YAML, or that exceeds a limit."""

    def __init__(self, what: str, line: int | None, expected: str = "YAML", key: str = "", column: int | None = None) -> None:
        super().__init__(what)
        self.what, self.line, self.expected, self.key, self.column = what, line, expected, key, column
        """`line` counts from 1, `column` from 0; `key` is the key that the error is about, if it is about one."""


class Mapping(dict[str, Any]):
    """A mapping that knows its own line and those of its keys, from 0."""

    line = 0
    lines: dict[str, int]


class Sequence(list[Any]):
    """A list that knows its own line and those of its entries, from 0."""

    line = 0
    lines: list[int]


@dataclass
class _Open:
    """A list or mapping whose end has not been read yet, with its size so far."""

    node: Mapping | Sequence
    anchor: str | None
    key: tuple[str, int] | None = None
    """For a mapping: the key whose value comes next, and its line."""
    merged: list[tuple[Mapping, int]] = field(default_factory=list)
    """For a mapping: the mappings of its merge keys."""
    nodes: int = 1
    height: int = 1


@dataclass(frozen=True)
class _Done:
    """A node, and the number of nodes and levels in it."""

    node: Any
    nodes: int = 1
    height: int = 0


def load(text: str) -> Any:
    """The only document of a text: `Mapping`, `Sequence` or a scalar; None of an empty text. Raises `YamlError`.

    A second definition of an anchor is a warning (`UserWarning`).
    """
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.reader import ReaderError

    try:
        return _Composer().compose(_events(text))
    except MarkedYAMLError as error:
        raise _in_our_words(error) from None
    except ReaderError as error:
        before = text[: error.position]
        what = f"the character {chr(error.character)!r}, which YAML does not allow"
        column = len(before) - before.rfind("\n") - 1
        raise YamlError(what, before.count("\n") + 1, "printable characters; others as escapes in double quotes", column=column) from None
    except YAMLError as error:
        raise YamlError(shortened(" ".join(str(error).split())), None) from None


_SYNTAX = (
    (r"mapping values are not allowed", "problem", "a ':' that cannot stand here", "one key a line, indented like its neighbours"),
    (r"expected <block end>, but found '([]}])'", "problem", "{0} closes nothing", "as many closing brackets as opening ones"),
    (r"expected the node content, but found '(.)'", "problem", "{0} where a value should be", "a value"),
    (r"expected <block end>", "problem", "does not line up with what is above", "the indentation of its neighbours"),
    (r"expected ',' or '(.)', but got", "problem", "the bracket of line {line} is still open here", "a comma, or {0}"),
    (r"found unexpected end of stream", "context", "a quote that is never closed", "a second quote"),
    (r"could not find expected ':'", "context", "a key without a ':'", "KEY: VALUE"),
    (r"found character '\\t'", "problem", "a tab", "spaces"),
    (r"found character '(.)' that cannot start", "problem", "{0} cannot begin a value", "quotes around it"),
)
"""For each error of the parser: a pattern, the place that dumbbell reports (that of the problem or of its context), dumbbell's own words,
and what was expected."""


def _in_our_words(error: Any) -> YamlError:
    found = " ".join(str(error.problem or error.context).split())
    context = error.context_mark or error.problem_mark
    for pattern, at, what, expected in _SYNTAX:
        if match := re.match(pattern, found):
            mark = context if at == "context" else error.problem_mark
            words = (text.format(*match.groups(), line=context.line + 1) for text in (what, expected))
            return YamlError(next(words), mark.line + 1, next(words), column=mark.column)
    mark = error.problem_mark or error.context_mark
    return YamlError(shortened(found), mark.line + 1 if mark else None, column=mark.column if mark else None)


def _events(text: str) -> Iterator[Any]:
    from ruamel.yaml import YAML

    yield from YAML(typ="safe", pure=True).parse(text)


class _Composer:
    """Builds data from the parser's events, without recursion."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._anchors: dict[str, _Done | None] = {}
        """None while the node is open, so that an alias for it would contain itself."""
        self._root: Any = None
        self._documents = 0

    def compose(self, events: Iterator[Any]) -> Any:
        """The root of the document."""
        from ruamel.yaml import events as kinds

        for event in events:
            line = event.start_mark.line
            if isinstance(event, kinds.ScalarEvent):
                self._anchor(event.anchor, line)
                self._add(_Done(self._scalar(event, line)), line, event.anchor)
            elif isinstance(event, kinds.MappingStartEvent):
                self._begin(Mapping(), event, line, "map")
            elif isinstance(event, kinds.SequenceStartEvent):
                self._begin(Sequence(), event, line, "seq")
            elif isinstance(event, kinds.CollectionEndEvent):
                self._end()
            elif isinstance(event, kinds.AliasEvent):
                self._add(self._alias(event.anchor, line), line, None)
            elif isinstance(event, kinds.DocumentStartEvent):
                self._documents += 1
                if self._documents > 1:
                    raise YamlError("a second document", line + 1, "one document")
        return self._root

    def _anchor(self, name: str | None, line: int) -> None:
        if name is None:
            return
        if name in self._anchors:
            warnings.warn(
                f"line {line + 1}: the anchor {shortened(name)!r} is defined again; aliases after it mean the new one", stacklevel=2
            )
        self._anchors[name] = None

    def _alias(self, name: str, line: int) -> _Done:
        if name not in self._anchors:
            raise YamlError(f"found undefined alias {shortened(name)!r}", line + 1)
        done = self._anchors[name]
        if done is None:
            raise YamlError(f"the alias {shortened(name)!r} is within what it stands for", line + 1, "data of finite depth")
        return done

    def _begin(self, node: Mapping | Sequence, event: Any, line: int, tag: str) -> None:
        if self._open and isinstance(self._open[-1].node, Mapping) and self._open[-1].key is None:
            raise YamlError(f"a {'list' if tag == 'seq' else 'mapping'} for a key", line + 1, "text")
        if event.tag not in (None, "!", _CORE + tag):
            raise YamlError(f"unknown tag {shortened(event.tag)!r}", line + 1, "data without tags")
        self._anchor(event.anchor, line)
        if len(self._open) >= MOST_DEPTH:
            raise YamlError(f"more than {MOST_DEPTH} levels", line + 1, f"at most {MOST_DEPTH} levels of lists and mappings")
        node.line = line
        node.lines = {} if isinstance(node, Mapping) else []
        self._open.append(_Open(node, event.anchor))

    def _end(self) -> None:
        done = self._open.pop()
        node = done.node
        if isinstance(node, Mapping):
            for source, line in done.merged:  # keys of the mapping itself come first, then those of earlier merge keys
                for key, value in source.items():
                    if key not in node:
                        node[key], node.lines[key] = value, source.lines.get(key, line)
        self._add(_Done(node, done.nodes, done.height), node.line, done.anchor)

    def _add(self, done: _Done, line: int, anchor: str | None) -> None:
        """Puts a node in its place in the list or mapping that is open."""
        if anchor is not None:
            self._anchors[anchor] = done
        if not self._open:
            self._root = done.node
            return
        parent = self._open[-1]
        parent.nodes += done.nodes
        parent.height = max(parent.height, done.height + 1)
        if len(self._open) + done.height > MOST_DEPTH:
            raise YamlError(f"more than {MOST_DEPTH} levels", line + 1, f"at most {MOST_DEPTH} levels of lists and mappings")
        if parent.nodes > MOST_NODES:
            raise YamlError(f"more than {MOST_NODES} values, aliases expanded", line + 1, f"at most {MOST_NODES}")
        if isinstance(parent.node, Sequence):
            parent.node.append(done.node)
            parent.node.lines.append(line)
        elif parent.key is None:
            self._add_key(parent, parent.node, done.node, line)
        else:
            (key, line), parent.key = parent.key, None
            if key == "<<":
                self._merge(parent, done.node, line)
            else:
                parent.node[key], parent.node.lines[key] = done.node, line

    def _add_key(self, parent: _Open, node: Mapping, key: Any, line: int) -> None:
        if not isinstance(key, str):
            what = "a list or mapping" if isinstance(key, list | dict) else "nothing" if key is None else repr(key)
            raise YamlError(f"{what} for a key", line + 1, "text")
        if key in node:
            raise YamlError("is given twice", line + 1, "each key once", shortened(key))
        parent.key = (key, line)

    def _merge(self, parent: _Open, value: Any, line: int) -> None:
        sources = value if isinstance(value, Sequence) else [value]
        if not all(isinstance(source, Mapping) for source in sources):
            raise YamlError("a merge key (<<) that has no mapping", line + 1, "a mapping, or a list of mappings")
        parent.merged += [(source, line) for source in sources]

    def _scalar(self, event: Any, line: int) -> Any:
        text, tag = event.value, event.tag
        if tag is not None and tag != "!":
            return self._tagged(text, tag, line)
        if not event.implicit[0]:
            return text
        if self._open and isinstance(self._open[-1].node, Mapping) and self._open[-1].key is None and text == "<<":
            return text
        return self._plain(text, line)

    def _plain(self, text: str, line: int) -> Any:
        if text in _NULL:
            return None
        if text in _BOOL:
            return _BOOL[text]
        if text[0] not in "+-.0123456789":
            return text
        if (match := _INT.fullmatch(text)) or _FLOAT.fullmatch(text):
            if len(text) > MOST_DIGITS:
                raise YamlError(f"a number of {len(text)} characters", line + 1, f"at most {MOST_DIGITS}")
            if match is None:
                return float(text.replace("_", ""))
            base = next(base for base in _BASES if match[base] is not None)
            digits = match[base].replace("_", "")
            return int(match["sign"] + digits, _BASES[base]) if digits else text
        if match := _INF.fullmatch(text):
            return float(f"{match[1]}inf")
        return float("nan") if text in _NAN else text

    def _tagged(self, text: str, tag: str, line: int) -> Any:
        if tag == f"{_CORE}str":
            return text
        types: dict[str, tuple[type, ...]] = {"int": (int,), "float": (float, int), "bool": (bool,), "null": (type(None),)}
        if (expected := types.get(tag.removeprefix(_CORE))) is None:
            raise YamlError(f"unknown tag {shortened(tag)!r}", line + 1, "data without tags")
        if type(value := self._plain(text, line)) not in expected:
            raise YamlError(f"{shortened(text)!r} is not of the tag {tag.removeprefix(_CORE)}", line + 1, "a value of that tag")
        return float(value) if expected[0] is float else value
