"""Printing tables for people."""

from __future__ import annotations

import shutil
from collections.abc import Iterable

from dumbbell.comparing.tables import Table

_NARROWEST = 116
"""Columns; narrower terminals wrap."""
_UNLIMITED = 10_000


def print_tables(tables: Iterable[Table]) -> None:
    """Write tables to stdout, wider than the terminal where words would be cut."""
    from rich.console import Console

    usual = max(_NARROWEST, shutil.get_terminal_size((_NARROWEST, 24)).columns)
    console = Console(width=_UNLIMITED, highlight=False)
    for table in tables:
        console.print(table.rich(usual))
        console.print()
