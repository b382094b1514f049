"""The length of the road: what a run and a table of one flow pass in Python, and how many lines of code there are.

python -m benchmarks.road
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.arguments import end_with

ROOT = Path(__file__).resolve().parent.parent
_SCENARIO = "examples/one-flow.yaml"
_PROGRAM = """
import inspect, json, sys, threading
own = tuple(sys.argv.pop(1).split(":"))
functions, files, last, changes = set(), set(), None, 0
def passed(frame, event, _):
    global last, changes
    code = frame.f_code
    if event != "call" or not code.co_filename.startswith(own) or not code.co_flags & inspect.CO_NEWLOCALS:
        return
    functions.add(code)
    files.add(code.co_filename)
    changes += last not in (None, code.co_filename)
    last = code.co_filename
threading.setprofile(passed)
sys.setprofile(passed)
try:
    from dumbbell.cli import main
    main()
finally:
    sys.setprofile(None)
    print(json.dumps({"functions": len(functions), "files": len(files), "changes": changes}), file=sys.stderr)
"""
"""Runs a command; prints how many functions and files of dumbbell it passed, and how often a call was in another file than the call before.
Bodies of modules and of classes are no functions."""
_OWN = ":".join(str(ROOT / package) for package in ("dumbbell", "dumbbell_studies"))
_LANGUAGES = {"py": "Python", "pyi": "Python", "rs": "Rust", "c": "C", "h": "C", "js": "JavaScript", "sh": "shell"}
_GENERATED = re.compile(r"generated|@generated", re.IGNORECASE)
_APART = re.compile(r"(^|/)(tests?|vendor|fuzz|benches|proptest-regressions|docs|examples)(/|$)|_?tests?\.(rs|py)$|(^|/)test_")
"""Tests, code of others, and examples."""
_COMMENTS = {"C": r"//[^\n]*|/\*.*?\*/", "shell": r"(?:(?<=\n)|^)[ \t]*#[^\n]*"}
_COMMENTS["Rust"] = _COMMENTS["JavaScript"] = _COMMENTS["C"]
_STRING = r'|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|`(?:\\.|[^`\\])*`)'


def passed(*commands: tuple[str, ...]) -> Iterator[dict[str, int]]:
    """Yield for each of the commands, which run one after the other in an empty folder: functions, files, and changes of file."""
    with tempfile.TemporaryDirectory() as folder:
        for command in commands:
            done = subprocess.run([sys.executable, "-c", _PROGRAM, _OWN, *command], cwd=folder, capture_output=True, text=True, check=True)
            yield json.loads(done.stderr.splitlines()[-1])


def lines_of_code() -> Counter[str]:
    """Lines written by hand, by language: without blank lines, comments, docstrings, tests and generated files."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    found: Counter[str] = Counter()
    for name in listed:
        language = _LANGUAGES.get(name.rpartition(".")[2])
        path = ROOT / name
        if language is None or _APART.search(name) or not path.is_file() or path.is_symlink():
            continue
        text = path.read_text(encoding="utf-8")
        if not _GENERATED.search(text[:300]):
            found[language] += _python_lines(text) if language == "Python" else _lines(text, language)
    return found


def _python_lines(text: str) -> int:
    """Lines with a token that is neither a comment nor a docstring, also one below a field."""
    described = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    nothing = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {line for token in tokens if token.type not in nothing for line in range(token.start[0], token.end[0] + 1)}
    return len(lines - described)


def _lines(text: str, language: str) -> int:
    """Lines that are not blank without comments; of Rust also without a file's own tests, which are its end."""
    if language == "Rust":
        text = re.split(r"(?m)^#\[cfg\(test\)\]\nmod \w+ \{", text)[0]
    bare = re.sub(_COMMENTS[language] + _STRING, lambda found: found[1] or "", text, flags=re.DOTALL)
    return sum(bool(line.strip()) for line in bare.split("\n"))


def main() -> None:
    """Measures, and prints a line each."""
    run, table = passed(("run", str(ROOT / _SCENARIO), "--set", "duration=5s", "--out", "runs"), ("table", "runs"))
    for what, count in (("dumbbell run", run), ("dumbbell table", table)):
        print(f"{what} of one flow for 5 s: {count['functions']} functions in {count['files']} files, {count['changes']:,} changes of file")
    for language, lines in lines_of_code().most_common():
        print(f"{language}: {lines:,} lines")


if __name__ == "__main__":
    end_with(main)
