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
_MOST_DIGITS = 1000
"""Numbers from here on have no decimals where digits are few."""
_SINGLE = 2
"""Lines of a table with a single row."""
_FEW_LINES = 2
"""Lines that wrapped headings have before rows as columns read better: two more than without wrapping."""
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
    labels: int | None = None
    """Number of the first columns that name a row; None for those before the first number."""

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
        return "\n".join((*self._headed(bold), laid[0], rule, *laid[1:])) + "\n"

    def without(self, dropped: Callable[[Sequence[str]], bool]) -> tuple[Table, list[str]]:
        """Return the table without the columns for whose fields `dropped` is true, and the names of those columns."""
        fields = list(zip(*self.fields, strict=True)) if self.rows else []
        left_out = [i for i, column in enumerate(fields) if dropped(column)]
        kept = [i for i in range(len(self.columns)) if i not in left_out]
        labels = sum(i < self._labels for i in kept)
        table = Table(self.title, [self.columns[i] for i in kept], [[row[i] for i in kept] for row in self.rows], labels)
        return table, [self.columns[i] for i in left_out]

    def trimmed(self) -> tuple[Table, list[str]]:
        """The table with four digits and without columns that say nothing, and lines that name these columns: those without a value, those
        that are equal in all rows (if there are several), and those that equal another one in each row."""
        columns = list(zip(*self.fields, strict=True)) if self.rows else []
        empty = [i for i, fields in enumerate(columns) if not any(fields)]
        equal = [i for i, fields in enumerate(columns) if len(self.rows) > 1 and i not in empty and len(set(fields)) == 1]
        rest = [i for i in range(len(columns)) if i not in (*empty, *equal)]
        twins = {i: j for i in rest for j in reversed(rest) if j < i < self._labels and columns[i] == columns[j]}
        if not set(rest) - set(range(self._labels)):  # all numbers are equal: keep them
            equal, rest = [], [i for i in range(len(columns)) if i not in empty]
        kept = [i for i in rest if i not in twins] if columns else list(range(len(self.columns)))
        brief = [[_brief(row[i]) for i in kept] for row in self.rows]
        table = Table(self.title, [self.columns[i] for i in kept], brief, sum(i < self._labels for i in kept))
        told = [f"no value: {', '.join(self.columns[i] for i in empty)}"] if empty else []
        if equal:
            told.append(f"equal everywhere: {', '.join(f'{self.columns[i]} {as_text(_brief(self.rows[0][i]))}' for i in equal)}")
        return table, [*told, *(f"{self.columns[i]} equals {self.columns[j]}" for i, j in twins.items())]

    def fitted(self, width: int, bold: bool = False) -> str:
        """Text for a terminal of this width, in the first form that fits: rows as they are; rows whose headings have few lines; rows as
        columns; rows whose headings have many lines; else the columns in parts, one below the other, each with the columns of text that
        come first."""
        right, rows = self._numeric(), [[" ".join(field.split()) for field in row] for row in (self.columns, *self.fields)]
        if not self.rows or self._fits(rows, width):
            return self.text(width, bold)
        head = self._headed(bold)
        labels = self._labels
        narrow = _headings_wrapped(rows, right, width) if len(rows) > _SINGLE else None
        if narrow is not None and len(narrow) - len(rows) <= _FEW_LINES:
            return "\n".join((*head, *narrow)) + "\n"
        if (turned := _transposed(rows, labels, width) or narrow) is not None:
            return "\n".join((*head, *turned)) + "\n"
        return "\n".join((*head, *_in_parts(rows, right, labels, width))) + "\n"

    @property
    def _labels(self) -> int:
        right = self._numeric()
        return self.labels if self.labels is not None else max(right.index(True), 1) if True in right else 1

    @staticmethod
    def _fits(rows: Sequence[Sequence[str]], width: int) -> bool:
        widths = [max(map(_length, column)) for column in zip(*rows, strict=True)]
        return sum(widths) + len(_GAP) * (len(widths) - 1) <= width

    def _headed(self, bold: bool) -> list[str]:
        title = printable(self.title)
        return [f"\033[1m{title}\033[0m" if bold else title, ""] if self.title else []

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


def _brief(cell: Cell) -> Cell:
    """A number with four digits, all before the point; other cells as they are."""
    return Shown(cell, _four_digits) if isinstance(cell, float) and math.isfinite(cell) else cell


def _four_digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= _MOST_DIGITS else f"{value:.4g}"


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


def _headings_wrapped(rows: Sequence[Sequence[str]], right: Sequence[bool], width: int) -> list[str] | None:
    """Rows of a line each below headings of several lines; None if they are wider than `width`."""
    columns = list(zip(*[[printable(field) for field in row] for row in rows], strict=True))
    widths = [max(*map(_length, head.split() or [""]), *map(_length, body), 0) for head, *body in columns]
    room = width - len(_GAP) * (len(widths) - 1) - sum(widths)
    if room < 0:
        return None
    while room > 0:  # the rest goes to the headings with the most lines
        tallest = max(range(len(widths)), key=lambda i: len(_wrapped(columns[i][0], widths[i])))
        if len(_wrapped(columns[tallest][0], widths[tallest])) == 1:
            break
        widths[tallest] += 1
        room -= 1
    heads = [_wrapped(column[0], wide) for column, wide in zip(columns, widths, strict=True)]
    height = max(map(len, heads))
    filled = [[""] * (height - len(head)) + head for head in heads]
    lines = [[head[i] for head in filled] for i in range(height)]
    body = [list(row) for row in zip(*[column[1:] for column in columns], strict=True)]
    return [*(_line(line, widths, right) for line in lines), _rule(widths), *(_line(row, widths, right) for row in body)]


def _transposed(rows: Sequence[Sequence[str]], labels: int, width: int) -> list[str] | None:
    """A line for each column, and a column for each row, headed by the row's first fields; None if that is wider than `width`."""
    if not labels:
        rows, labels = [["", *row] for row in rows], 1
    heads = [" ".join(dict.fromkeys(filter(None, row[:labels]))) for row in rows[1:]]
    first = [rows[0][0] if labels == 1 else "", *rows[0][labels:]]
    body = [[row[i] for row in rows[1:]] for i in range(labels, len(rows[0]))]
    if not any([*heads, first[0]]):  # a single row without a name
        names = max(map(_length, first[1:]), default=0)
        return [f"{_filled(name, names, False)}{_GAP}{fields[0]}" for name, fields in zip(first[1:], body, strict=True)]
    turned = [first[:1] + heads, *([name, *fields] for name, fields in zip(first[1:], body, strict=True))]
    return _headings_wrapped(turned, [False, *([True] * len(heads))], width)


def _in_parts(rows: Sequence[Sequence[str]], right: Sequence[bool], labels: int, width: int) -> list[str]:
    """Some of the columns after the other, each part with the first `labels` columns. A part has one other column at least."""
    wide = [max(max(map(_length, row[0].split() or [""])), *map(_length, row[1:]), 0) for row in zip(*rows, strict=True)]
    fixed_width = sum(wide[:labels]) + len(_GAP) * labels
    parts: list[list[int]] = []
    left = -1
    for column in range(labels, len(wide)):
        if left < wide[column] or not parts:
            parts.append([])
            left = width - fixed_width
        parts[-1].append(column)
        left -= wide[column] + len(_GAP)
    lines: list[str] = []
    for part in parts:
        chosen = [*range(labels), *part]
        picked = [[row[i] for i in chosen] for row in rows]
        some = [right[i] for i in chosen]
        needed = sum(wide[i] for i in chosen) + len(_GAP) * (len(chosen) - 1)
        lines += [*([""] if lines else []), *(_headings_wrapped(picked, some, max(width, needed)) or ())]
    return lines


def _line(fields: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    return _GAP.join(_filled(field, wide, numeric) for field, wide, numeric in zip(fields, widths, right, strict=True)).rstrip()


def _rule(widths: Sequence[int]) -> str:
    return "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))


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
