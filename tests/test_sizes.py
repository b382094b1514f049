"""Files and types are small enough to be read at once."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("crates", "dumbbell", "dumbbell_studies", "tests", "benchmarks", "examples", ".ci")
SUFFIXES = (".py", ".pyi", ".rs", ".c", ".h", ".sh", ".toml", ".yaml")
MOST_LINES = 500
MOST_FIELDS = 15
REASON = re.compile(r"\bWide because\s+\w+", re.IGNORECASE)
"""Start of the reason in the documentation of a type with more fields."""


class Type(NamedTuple):
    """A type with its documentation."""

    name: str
    fields: int
    doc: str


def sources(*suffixes: str) -> list[Path]:
    """All files with one of the suffixes."""
    found = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in suffixes]
    return [path for path in found if path.is_file() and not {"target", "__pycache__"} & set(path.parts)]


def python_types(text: str) -> Iterator[Type]:
    """Classes; a field is declared in the class or assigned to self in a method."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ClassDef):
            continue
        declared = {each.target.id for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)}
        variables = {
            each.target.id
            for each in node.body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and "ClassVar" in ast.unparse(each.annotation)
        }
        assigned = {
            each.attr
            for each in ast.walk(node)
            if isinstance(each, ast.Attribute)
            and isinstance(each.ctx, ast.Store)
            and isinstance(each.value, ast.Name)
            and each.value.id == "self"
        }
        yield Type(node.name, len((declared - variables) | assigned), ast.get_docstring(node) or "")


def rust_types(text: str) -> Iterator[Type]:
    """Structs, and variants of enums with named fields."""
    code = without_comments(text)
    for match in re.finditer(r"\b(struct|enum)\s+(\w+)[^;{(]*\{", code):
        body = code[match.end() : closing(code, match.end())]
        doc = doc_before(text, match.start())
        if match[1] == "struct":
            yield Type(match[2], len(parts(body, ",")), doc)
            continue
        for variant in parts(body, ","):
            if named := re.search(r"(\w+)\s*\{(.*)\}", variant, re.DOTALL):
                yield Type(f"{match[2]}::{named[1]}", len(parts(named[2], ",")), doc)


def c_types(text: str) -> Iterator[Type]:
    """Structs and unions; what has several names in one declaration is several fields."""
    code = without_comments(text)
    for match in re.finditer(r"\b(?:struct|union)(\s+\w+)?\s*\{", code):
        body = code[match.end() : closing(code, match.end())]
        fields = sum(len(parts(declaration, ",")) for declaration in parts(body, ";"))
        yield Type((match[1] or "unnamed").strip(), fields, doc_before(text, match.start()))


def without_comments(text: str) -> str:
    """The text with spaces for comments and the contents of strings, so that positions stay."""
    blank = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"', re.DOTALL)
    return blank.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def closing(code: str, start: int) -> int:
    """The position of the brace that closes the one before `start`."""
    depth = 1
    for i in range(start, len(code)):
        depth += {"{": 1, "}": -1}.get(code[i], 0)
        if not depth:
            return i
    raise ValueError("a brace is not closed")


def parts(code: str, separator: str) -> list[str]:
    """Return the parts between separators that are in no brackets."""
    found, depth = [""], 0
    for character in code.replace("->", "  "):
        depth += (character in "([{<") - (character in ")]}>")
        if character == separator and not depth:
            found.append("")
        else:
            found[-1] += character
    return [part for part in found if part.strip()]


def doc_before(text: str, position: int) -> str:
    """The lines of comments and attributes right before a position."""
    lines: list[str] = []
    for line in reversed(text[:position].split("\n")[:-1]):
        if not re.match(r"\s*(//|/?\*|#\[)", line):
            break
        lines.insert(0, line.strip().strip("/* "))
    return " ".join(lines)


READERS = {".py": python_types, ".pyi": python_types, ".rs": rust_types, ".c": c_types, ".h": c_types}


def test_no_file_is_long():
    found = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sources(*SUFFIXES)}
    assert len(found) > 300
    assert not {str(path.relative_to(ROOT)): lines for path, lines in found.items() if lines > MOST_LINES}


@pytest.mark.parametrize(
    "suffixes",
    [
        pytest.param((".py", ".pyi"), id="Python"),
        pytest.param((".c", ".h"), id="C"),
        pytest.param((".rs",), id="Rust"),
    ],
)
def test_a_type_with_many_fields_says_why(suffixes):
    found = [(path, each) for path in sources(*suffixes) for each in READERS[path.suffix](path.read_text(encoding="utf-8"))]
    assert len(found) > 10
    wide = {f"{path.relative_to(ROOT)}: {each.name}": each.fields for path, each in found if each.fields > MOST_FIELDS}
    explained = {f"{path.relative_to(ROOT)}: {each.name}" for path, each in found if REASON.search(each.doc)}
    assert not {name: fields for name, fields in wide.items() if name not in explained}, "expected 'Wide because ...' in the documentation"


@pytest.mark.parametrize(
    ("suffix", "text", "expected"),
    [
        (
            ".py",
            'class A:\n    """Doc."""\n    x: int\n    n: ClassVar[int] = 1\n    def f(self):\n        self.x = self.y = 1\n',
            ("A", 2, "Doc."),
        ),
        (
            ".rs",
            "/// Wide because\n/// of it.\n#[derive(Debug)]\npub struct A<T> {\n /// A, b.\n pub a: Map<T, u8>,\n b: (u8, u8),\n}",
            ("A", 2, None),
        ),
        (".rs", "enum E { A(u8), B { a: u8, b: fn(u8) -> u8 } }", ("E::B", 2, "")),
        (".c", "/* Doc. */\nstruct a {\n\tint x, *y; /* z; */\n\tstruct { int u; } v;\n};", ("a", 3, "Doc. ")),
    ],
)
def test_fields_are_counted(suffix, text, expected):
    name, fields, doc = next(READERS[suffix](text))
    assert (name, fields) == expected[:2]
    if expected[2] is None:
        assert REASON.search(doc)
    else:
        assert doc.split() == expected[2].split()
