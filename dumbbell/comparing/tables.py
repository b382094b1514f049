"""Tables as data, and their output as CSV, as Markdown, as LaTeX, as HTML or on a terminal."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from dumbbell.errors import printable
from dumbbell.escaping import csv_text, in_latex, in_markdown

WIDTH = 116
"""Characters of a line, where nobody says how many there are."""
_GAP = "  "
"""Separates columns on a terminal."""
_NUMBER = re.compile(r"[-+]?(\d|$)")
"""Beginning of the fields of a column of numbers."""
Value: TypeAlias = str | int | float | None
_Laid = tuple[list[int], list[str]]
"""The widths of the columns, and the rows as text."""


class Shown(NamedTuple):
    """A value that is written in its own way."""

    value: Value
    write: Callable[[Any], str]
    """Returns the text of the value."""


Cell: TypeAlias = Value | Shown


@dataclass(frozen=True, repr=False)
class Table:
    """A title, a header, and rows of values, which are formatted when the table is written. Columns of numbers are right-aligned."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    @cached_property
    def fields(self) -> list[list[str]]:
        """The rows as text: numbers with six digits unless they are written in their own way, NaN and None as an empty field."""
        return [list(map(as_text, row)) for row in self.rows]

    def csv(self) -> str:
        """Header and rows; the title is left out."""
        return csv_text((self.columns, *self.fields))

    def records(self) -> list[dict[str, Value]]:
        """Return the rows, each column -> value, numbers with all their digits; None for a number that is not finite."""
        return [dict(zip(self.columns, map(_plain, row), strict=True)) for row in self.rows]

    def markdown(self) -> str:
        """The title as a bold line, then a pipe table with numbers right-aligned."""
        rule = ["---:" if numeric else "---" for numeric in self._numeric()]
        head, *rows = [list(map(in_markdown, row)) for row in (self.columns, *self.fields)]
        lines = [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]
        return "\n".join(([f"**{in_markdown(self.title)}**", ""] if self.title else []) + lines) + "\n"

    def latex(self) -> str:
        """A table for a document with the package booktabs: numbers right-aligned, the title as its caption."""
        columns = "".join("r" if numeric else "l" for numeric in self._numeric())
        head, *rows = [" & ".join(map(in_latex, row)) + r" \\" for row in (self.columns, *self.fields)]
        caption = [rf"\caption{{{in_latex(self.title)}}}"] if self.title else []
        body = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"]
        return "\n".join([r"\begin{table}", r"\centering", *caption, *body, r"\end{table}"]) + "\n"

    def html(self) -> str:
        """A table for a web page or a notebook. Nothing in it is taken for markup."""
        from html import escape

        sides = ["right" if numeric else "left" for numeric in self._numeric()]

        def row(fields: Sequence[str], kind: str) -> str:
            cells = (f'<{kind} style="text-align: {side}">{escape(field)}</{kind}>' for field, side in zip(fields, sides, strict=True))
            return f"<tr>{''.join(cells)}</tr>"

        caption = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        body = "\n".join(row(fields, "td") for fields in self.fields)
        return f"<table>{caption}\n<thead>{row(self.columns, 'th')}</thead>\n<tbody>\n{body}\n</tbody></table>\n"

    def __repr__(self) -> str:
        return self.text(WIDTH).rstrip("\n")

    def _repr_html_(self) -> str:
        return self.html()

    def text(self, width: int, bold: bool = False) -> str:
        """Text for a terminal of this width. Fields are wrapped between words; a long word makes the table wider. `bold`: bold title."""
        right, rows = self._numeric(), (self.columns, *self.fields)
        widths, laid = _in_lines(rows, right, width) or _in_paragraphs(rows, right, width)
        rule = "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
        title = printable(self.title)
        head = [f"\033[1m{title}\033[0m" if bold else title, ""] if self.title else []
        return "\n".join((*head, laid[0], rule, *laid[1:])) + "\n"

    def _numeric(self) -> list[bool]:
        """For each column, whether all its fields are numbers, with or without units."""
        return [all(map(_NUMBER.match, map(itemgetter(index), self.fields))) for index in range(len(self.columns))]


def as_text(cell: Cell) -> str:
    """A cell as a field, see `Table.fields`."""
    if isinstance(cell, Shown):
        return "" if cell.value is None else cell.write(cell.value)
    if isinstance(cell, float):
        return "" if math.isnan(cell) else f"{cell:.6g}"
    return "" if cell is None else str(cell)


def fixed(value: float | None, decimals: int) -> Shown:
    """A number that is written with this many decimals; None is an empty field."""
    return Shown(value, f"{{:.{decimals}f}}".format)


def short(value: float) -> int | float:
    """A number, as an integer if it is whole."""
    return int(value) if float(value).is_integer() else value


def _plain(cell: Cell) -> Value:
    """The value of a cell for JSON."""
    value = cell.value if isinstance(cell, Shown) else cell
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _in_lines(rows: Sequence[Sequence[str]], right: Sequence[bool], width: int) -> _Laid | None:
    """Return rows of a line each, if no field is to be wrapped and each character takes one place. Nearly all tables are like this."""
    if not all(text.isascii() and text.isprintable() for text in map("".join, rows)):
        return None
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if sum(widths) + len(_GAP) * (len(widths) - 1) > width and any(" " in field for row in rows for field in row):
        return None
    line = _GAP.join(f"%{'' if numeric else '-'}{of}s" for of, numeric in zip(widths, right, strict=True))
    return widths, [(line % tuple(row)).rstrip() for row in rows]


def _in_paragraphs(rows: Sequence[Sequence[str]], right: Sequence[bool], width: int) -> _Laid:
    """Rows of any fields."""
    fields = [[_lines(field) for field in row] for row in rows]
    widths = _widths(list(zip(*fields, strict=True)), width)
    return widths, [_laid(row, widths, right) for row in fields]


def _lines(field: str) -> list[str]:
    return [printable(line) for line in field.splitlines()] or [""]


def _length(text: str) -> int:
    """Width on a terminal, in character cells."""
    return len(text) if text.isascii() else sum(_places(each) for each in text)


def _places(character: str) -> int:
    return 0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "FW" else 1


def _widths(columns: Sequence[Sequence[Sequence[str]]], width: int) -> list[int]:
    """The width of each column, given the lines of its fields: that of its longest line. If the sum exceeds `width`, the widest columns are
    narrowed first, each at most to its longest word."""
    widths = [max(_length(line) for field in column for line in field) for column in columns]
    room = width - len(_GAP) * (len(widths) - 1)
    if sum(widths) <= room:
        return widths
    words = [
        max((_indent(line) + _length(word) for field in column for line in field for word in line.split()), default=0) for column in columns
    ]
    while sum(widths) > room:
        shrinkable = [index for index, (now, least) in enumerate(zip(widths, words, strict=True)) if now > least]
        if not shrinkable:
            break
        widths[max(shrinkable, key=lambda index: widths[index])] -= 1
    return widths


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _laid(row: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[bool]) -> str:
    """A row as lines of text, each field padded to the width of its column."""
    wrapped = [[part for line in field for part in _wrapped(line, width)] for field, width in zip(row, widths, strict=True)]
    return "\n".join(
        _GAP.join(_filled(part, width, numeric) for part, width, numeric in zip(parts, widths, right, strict=True)).rstrip()
        for parts in zip_longest(*wrapped, fillvalue="")
    )


def _wrapped(line: str, width: int) -> list[str]:
    """A line broken between words into parts of at most this width, unless one word is longer. The first part keeps the indent."""
    if _length(line) <= width:
        return [line]
    parts = [line[: _indent(line)]]
    for number, word in enumerate(line.split()):
        if number and _length(parts[-1]) + 1 + _length(word) > width:
            parts.append(word)
        else:
            parts[-1] += f" {word}" if number else word
    return parts


def _filled(text: str, width: int, right: bool) -> str:
    blanks = " " * (width - _length(text))
    return blanks + text if right else text + blanks
