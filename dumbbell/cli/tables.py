"""Printing tables for people."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable

import typer

from dumbbell.comparing.tables import Table

_NARROWEST = 116
"""Columns; narrower terminals wrap."""


def print_tables(tables: Iterable[Table]) -> None:
    """Write tables to stdout, as wide as the terminal, or wider if a word would be cut otherwise."""
    usual = max(_NARROWEST, shutil.get_terminal_size((_NARROWEST, 24)).columns)
    for table in tables:
        typer.echo(table.text(usual, bold=sys.stdout.isatty()))
