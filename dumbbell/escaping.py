"""Escape text for programs that would interpret some of it: spreadsheets, Markdown, LaTeX and terminals."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from dumbbell.errors import printable, printable_lines

_FORMULA = re.compile(r"(?:^|(?<=[;\n]))(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Start of a cell of a spreadsheet that is taken for a formula; some countries separate cells by semicolons."""
_SIGNED = re.compile(r"[-+](?:(?:[\d.,±%()\[\]\s+-]|to|(?<=\d)e[-+]?\d)*|inf|nan)")
"""A signed number, perhaps with its unit, limits or spread: nothing in it is a function or the name of a cell."""
_CODE = re.compile(r"(?<!`)(`[^`\\]+`)(?!`)")
_MARKUP = re.compile(r"[\\`*$|~]|](?=\()|(?<!\w)_|_(?!\w)")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "±": r"$\pm$",
    "µ": r"$\mu$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    **{character: f"{{{character}}}" for character in "[]*"},
}
"""Character -> its LaTeX. A bracket or asterisk after the end of a row would belong to the command that ends it."""


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    """Comma-separated values, a row a line."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([csv_cell(field) for field in row] for row in rows)
    return out.getvalue()


def csv_cell(text: str) -> str:
    """A cell, not yet quoted: one that a spreadsheet would take for a formula gets an apostrophe, unless it is a number."""
    shown = printable_lines(text)
    return shown if _SIGNED.fullmatch(shown) else _FORMULA.sub("'", shown)


def in_markdown(text: str) -> str:
    """A cell of a table, or part of a line. Code between backticks stays code; nothing else is taken for markup, a link or HTML."""
    parts = _CODE.split(" ".join(printable_lines(text).splitlines()))
    return "".join(part.replace("|", "\\|") if i % 2 else _in_words(part) for i, part in enumerate(parts))


def _in_words(text: str) -> str:
    return _MARKUP.sub(r"\\\g<0>", _ENTITY.sub("&amp;", text).replace("<", "&lt;"))


def in_latex(text: str) -> str:
    """Part of a line, in which nothing is taken for a command."""
    return "".join(_LATEX.get(character, character) for character in printable(" ".join(text.split())))
