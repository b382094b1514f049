"""Printing tables for people."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable

import typer

from dumbbell.comparing.tables import WIDTH, Table


def print_tables(tables: Iterable[Table]) -> None:
    """Write tables to stdout, as wide as the terminal, or wider if a word would be cut otherwise."""
    usual = max(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)  # narrower terminals wrap
    for table in tables:
        typer.echo(table.text(usual, bold=sys.stdout.isatty()))
