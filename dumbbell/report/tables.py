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

    def rich(self) -> RichTable:
        """For a terminal."""
        from rich.box import Box
        from rich.table import Table as RichTable

        ruled = Box("    \n    \n────\n    \n    \n    \n    \n    \n", ascii=False)
        table = RichTable(
            title=self.title or None, title_justify="left", title_style="bold", box=ruled, pad_edge=False, padding=(0, 1, 0, 0)
        )
        for index, (column, numeric) in enumerate(zip(self.columns, self._numeric(), strict=True)):
            longest = max(_longest_word(field) for field in (column, *(row[index] for row in self.rows)))
            table.add_column(column, justify="right" if numeric else "left", min_width=longest)
        for row in self.rows:
            table.add_row(*(field.replace("[", "\\[") for field in row))
        return table

    def _numeric(self) -> list[bool]:
        """Whether each column holds numbers (with units) and nothing else."""
        return [all(re.match(r"[-+]?(\d|$)", row[index]) for row in self.rows) for index in range(len(self.columns))]


def _plain(field: str) -> str | float | None:
    return float(field) if re.fullmatch(r"-?\d+(\.\d+)?(e[-+]\d+)?", field) else field or None


def _escaped(field: str) -> str:
    return field.replace("|", "\\|")


def _longest_word(field: str) -> int:
    indent = len(field) - len(field.lstrip())
    return indent + max(map(len, field.split()), default=1)
