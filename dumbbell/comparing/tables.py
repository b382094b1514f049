"""Tables as data, written as CSV, Markdown or for a terminal."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table as RichTable


@dataclass(frozen=True)
class Table:
    """A title, a header, rows of ready text. A column of numbers stands to the right."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def csv(self) -> str:
        """Header and rows; the title is left out."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return out.getvalue()

    def records(self) -> list[dict[str, str | float | None]]:
        """The rows by column: numbers as such, none where a field is empty."""
        return [dict(zip(self.columns, map(_plain, row), strict=True)) for row in self.rows]

    def markdown(self) -> str:
        """The title as a bold line, then a pipe table, numbers to the right."""
        rule = ["---:" if numeric else "---" for numeric in self._numeric()]
        lines = [f"| {' | '.join(_escaped(field) for field in row)} |" for row in (self.columns, rule, *self.rows)]
        return "\n".join(([f"**{self.title}**", ""] if self.title else []) + lines) + "\n"

    def rich(self, width: int) -> RichTable:
        """For a terminal of this width, or wider where the words need it: fields are wrapped, no word is cut."""
        from rich.box import Box
        from rich.table import Table as RichTable

        ruled = Box("    \n    \n────\n    \n    \n    \n    \n    \n", ascii=False)
        table = RichTable(
            title=self.title or None, title_justify="left", title_style="bold", box=ruled, pad_edge=False, padding=(0, 1, 0, 0)
        )
        for column, numeric, fitted in zip(self.columns, self._numeric(), self._widths(width), strict=True):
            table.add_column(column, justify="right" if numeric else "left", width=fitted)
        for row in self.rows:
            table.add_row(*(field.replace("[", "\\[") for field in row))
        return table

    def _widths(self, width: int) -> list[int]:
        """Of each column in a terminal: as its longest line, or less, the widest first, down to its longest word."""
        fields = [[column, *(row[index] for row in self.rows)] for index, column in enumerate(self.columns)]
        widths = [max(_longest_line(field) for field in column) for column in fields]
        words = [max(_longest_word(field) for field in column) for column in fields]
        # Around each column stand a blank and a separator, around the table an edge.
        room = width - 2 * len(widths) - 2
        while sum(widths) > room:
            shrinkable = [index for index, (now, least) in enumerate(zip(widths, words, strict=True)) if now > least]
            if not shrinkable:
                break
            widths[max(shrinkable, key=lambda index: widths[index])] -= 1
        return widths

    def _numeric(self) -> list[bool]:
        """Whether each column holds numbers (with units) and nothing else."""
        return [all(re.match(r"[-+]?(\d|$)", row[index]) for row in self.rows) for index in range(len(self.columns))]


def _plain(field: str) -> str | float | None:
    return float(field) if re.fullmatch(r"-?\d+(\.\d+)?(e[-+]\d+)?", field) else field or None


def _escaped(field: str) -> str:
    return field.replace("|", "\\|")


def _longest_line(field: str) -> int:
    return max(map(len, field.splitlines()), default=1)


def _longest_word(field: str) -> int:
    indent = len(field) - len(field.lstrip())
    return indent + max(map(len, field.split()), default=1)
