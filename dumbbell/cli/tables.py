"""Printing tables for people."""

from __future__ import annotations

import shutil
from collections.abc import Iterable

from dumbbell.report.tables import Table

_NARROWEST = 116
"""Columns; narrower terminals wrap."""


def print_tables(tables: Iterable[Table]) -> None:
    """Write tables to stdout."""
    from rich.console import Console

    console = Console(width=max(_NARROWEST, shutil.get_terminal_size((_NARROWEST, 24)).columns), highlight=False)
    for table in tables:
        console.print(table.rich())
        console.print()
