"""Checks that no docstring and no comment begins with a clause that has neither subject nor verb (CONTRIBUTING.md, "Plain English").

    python .ci/wording.py [PATH...]

It prints FILE:LINE of each docstring, comment or paragraph that begins with one of `WORDS`, and of each one with a house word: in Python
those of documents (`prose.HOUSE`), in Rust those of `HOUSE`. It ends with 1 if there are any. Words in backticks or quotation marks, and
names of files, are no prose.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import prose

ROOT = Path(__file__).resolve().parent.parent
WORDS = ("Of", "What", "Whether", "As", "Likewise", "Those")
HOUSE = {"sent again": "retransmitted", "sends again": "retransmits", "the least": "the minimum", "the greatest": "the maximum"}
"""House words that comments in Rust do not have, each with the field's word."""
FOLDERS = (".ci", "benchmarks", "crates", "docs", "dumbbell", "dumbbell_studies", "examples", "fuzz", "tests")
_HOUSE = {
    ".py": re.compile(rf"\b(?:{'|'.join(prose.HOUSE)})\b", re.IGNORECASE),
    ".rs": re.compile(rf"\b(?:{'|'.join(HOUSE)})\b", re.IGNORECASE),
}
_NO_PROSE = re.compile(r"``.+?``|`[^`]*`|\"[^\"]*(?:\"|$)|[\w/-]+\.(?:md|py|csv|json|yaml)\b")
_BEGINS = re.compile(rf"({'|'.join(WORDS)})\b(?!\?)")
_RUST = re.compile(r"\s*//[/!]?(?: (?P<alone>.*)|$)|(?:[^\"]|\"[^\"]*\")*? // (?P<behind>.*)")


def python_texts(source: str) -> Iterator[tuple[int, str, bool]]:
    """Line and text of every docstring, also of those below variables and fields, and of every comment; true for one that follows code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for number, line in enumerate(node.value.value.split("\n"), node.lineno):
                yield number, line.strip(), False
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#: "), bool(token.line[: token.start[1]].strip())


def rust_texts(source: str) -> Iterator[tuple[int, str, bool]]:
    """Line and text of every comment; true for one that follows code."""
    for number, line in enumerate(source.split("\n"), 1):
        if match := _RUST.match(line):
            yield number, (match["alone"] or match["behind"] or "").strip(), match["behind"] is not None


def beginnings(texts: Iterator[tuple[int, str, bool]]) -> Iterator[tuple[int, str]]:
    """The lines that begin a docstring, a comment or a paragraph, because no line of text is above."""
    above = None
    for number, text, follows_code in texts:
        if follows_code or above != number - 1:
            yield number, text
        above = number if text and not follows_code else None


def found(path: Path) -> list[tuple[int, str]]:
    """Line and text of each beginning and of each house word in a file that the rules forbid."""
    texts = python_texts if path.suffix == ".py" else rust_texts
    source = path.read_text(encoding="utf-8")
    wrong = [(number, text) for number, text in beginnings(texts(source)) if _BEGINS.match(text)]
    house = _HOUSE[path.suffix]
    return sorted({*wrong, *((number, text) for number, text, _ in texts(source) if house.search(_NO_PROSE.sub("X", text)))})


def files(roots: list[Path]) -> Iterator[Path]:
    """The sources in Python and Rust below some paths, without built ones."""
    for root in roots:
        for path in [root] if root.is_file() else sorted(root.rglob("*")):
            if path.suffix in (".py", ".rs") and not {"target", "__pycache__"} & set(path.parts):
                yield path


def main() -> int:
    """Check the named paths, or all."""
    roots = [Path(each) for each in sys.argv[1:]] or [ROOT / each for each in FOLDERS]
    lines = [f"{path.resolve().relative_to(ROOT)}:{number}: {text.strip()[:70]}" for path in files(roots) for number, text in found(path)]
    if lines:
        print("\n".join(lines))
        words = ", ".join(WORDS)
        print(f"A comment begins with its subject, not with {words}, and uses the field's words: see Plain English in CONTRIBUTING.md.")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
