"""Checks the language of everything that dumbbell prints or draws (CONTRIBUTING.md, "Plain English").

    .venv/bin/python .ci/messages.py

The texts are the help of every command and option, the meaning of every key of a scenario, and every string of the sources with a blank in
it: error messages, notes, titles of tables, labels of figures, texts of the explorer. Heads of tables and comments of the scenario files
that come with dumbbell are texts, too. It prints where a text begins with one of `prose.BEGINNINGS` or has a house word (`prose.HOUSE`),
and each help text with a semicolon, and ends with 1 if there are any. An error message may have semicolons, because its form is "what is
wrong; expected what".
"""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import prose

ROOT = prose.ROOT
SCENARIOS = ("examples", "dumbbell/templates")
PYTHON = ("dumbbell", "dumbbell_studies", "benchmarks")
_CODE = re.compile(r"`[^`]*`")
_RUST = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_SCRIPT = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`')
_INSIDE = re.compile(r"\$?\{[^{}]*\}")


class Text(NamedTuple):
    """A text with its place, and true if it is help."""

    place: str
    text: str
    is_help: bool = False


def of_python(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each string that is no docstring. A value within it reads X."""
    tree = ast.parse(source)
    hidden = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    hidden |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    yield from of_table(tree)
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, node.value
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)


def of_rust(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each string above the tests."""
    source = re.sub(r"^[^\S\n]*//.*$", "", source.partition("#[cfg(test)]")[0], flags=re.MULTILINE)
    for match in (each for each in _RUST.finditer(source) if " " in each[1].strip()):
        yield source.count("\n", 0, match.start()) + 1, _INSIDE.sub("X", re.sub(r"\\\n\s*", "", match[1]))


def of_script(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each string of a module of the explorer."""
    source = re.sub(r"/\*.*?\*/", lambda match: "\n" * match[0].count("\n"), source, flags=re.DOTALL)
    source = re.sub(r"(^|[^\S\n])//.*$", r"\1", source, flags=re.MULTILINE)
    for match in (each for each in _SCRIPT.finditer(source) if " " in each[0].strip()):
        yield source.count("\n", 0, match.start()) + 1, _INSIDE.sub("X", match[1] or match[2] or "")


def of_table(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of each single word in the heads of a table."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Table":
            parts = [node.args[1]] if len(node.args) > 1 else []
        elif isinstance(node, ast.Assign) and any(
            isinstance(each, ast.Name) and each.id.strip("_").lower() == "heads" for each in node.targets
        ):
            parts = [node.value]
        else:
            continue
        for each in (inner for part in parts for inner in ast.walk(part)):
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield each.lineno, each.value


def of_scenario(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each comment of a scenario file; lines that follow each other are one comment."""
    begun, lines = 0, list[str]()
    for number, line in enumerate([*source.split("\n"), ""], 1):
        alone, behind = re.match(r"\s*# ?(.*)", line), re.search(r"\s# (.*)", line)
        if alone:
            begun = begun if lines else number
            lines.append(alone[1])
            continue
        if lines:
            yield begun, " ".join(lines)
            lines = []
        if behind:
            yield number, behind[1]


def of_sources() -> Iterator[Text]:
    """The texts of all sources, tests aside."""
    rust = [path for path in sorted((ROOT / "crates").rglob("*.rs")) if "src" in path.parts and "test" not in path.name]
    readers = (
        (of_python, [path for folder in PYTHON for path in sorted((ROOT / folder).rglob("*.py")) if "examples" not in path.parts]),
        (of_rust, [path for path in rust if "tests" not in path.parts]),
        (of_scenario, [path for folder in SCENARIOS for path in sorted((ROOT / folder).rglob("*.yaml"))]),
        (of_script, sorted((ROOT / "dumbbell" / "explorer" / "page").glob("*.js"))),
    )
    for read, paths in readers:
        for path in paths:
            name = path.relative_to(ROOT).as_posix()
            yield from (Text(f"{name}:{line}", text) for line, text in read(path.read_text(encoding="utf-8")))


def of_help() -> Iterator[Text]:
    """The help of all commands, with that of their options and arguments."""
    sys.path.insert(0, str(ROOT))
    from typer.main import get_command

    from dumbbell.cli import app

    def of(name: str, command: Any) -> Iterator[Text]:
        yield Text(f"{name} --help", " ".join((command.help or "").split()), True)
        for each in command.params:
            if not each.hidden:
                yield Text(f"{name} {each.opts[0]}", getattr(each, "help", None) or "", True)
        for called, each in (getattr(command, "commands", None) or {}).items():
            yield from of(f"{name} {called}", each)

    return of("dumbbell", get_command(app))


def of_schema() -> Iterator[Text]:
    """The meaning of every key."""
    from dumbbell.cli.maintain.schema import names
    from dumbbell.scenario.schema import schema

    def of(place: str, part: Any) -> Iterator[Text]:
        if isinstance(part, Mapping):
            if isinstance(said := part.get("description"), str):
                yield Text(f"dumbbell schema: {place}", said)
            for name, each in part.items():
                yield from of(f"{place}.{name}", each)
        elif isinstance(part, list):
            for each in part:
                yield from of(place, each)

    return of("", schema(names()))


def faults(each: Text) -> Iterator[str]:
    """The rules that a text breaks."""
    text = _CODE.sub("X", each.text)
    for match in prose.begins(text):
        yield f"begins with {match.split()[0]}: {match[:60]}"
    for word, instead in prose.house_words(text):
        yield f'"{word}": write {instead}: {text[:90]}'
    if each.is_help and ";" in text:
        yield f"semicolon: {text[:90]}"


def main() -> int:
    """Check all texts."""
    broken = 0
    for each in dict.fromkeys((*of_sources(), *of_help(), *of_schema())):
        found = list(faults(each))
        broken += len(found)
        print("".join(f"{each.place}: {reason}\n" for reason in found), end="")
    if broken:
        print('Messages, help and labels are written in plain English: see "Plain English" in CONTRIBUTING.md.')
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
