"""Printing tables for people."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable

import typer

from dumbbell.cli.output import show
from dumbbell.comparing.tables import WIDTH, Table


def print_tables(tables: Iterable[Table]) -> None:
    """Write tables to stdout, as wide as the terminal, or wider if a word would be cut otherwise."""
    usual = max(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)  # narrower terminals wrap
    for table in tables:
        typer.echo(table.text(usual, bold=sys.stdout.isatty()))


def print_fitted(table: Table) -> None:
    """Write a table to stdout in the form that fits the terminal, without columns that are 0 or empty everywhere; these are named."""
    told, dropped = table.without(lambda fields: all(field in ("", "0") or _is_zero(field) for field in fields))
    typer.echo(told.fitted(terminal_width(), bold=sys.stdout.isatty()), nl=False)
    if dropped:
        show("")
        print_wrapped(f"0 everywhere: {', '.join(dropped)}")


def print_trimmed(tables: Iterable[Table]) -> None:
    """Write tables to stdout in the form that fits the terminal, with few digits and without columns that say nothing; these are named."""
    for number, table in enumerate(tables):
        shown, told = table.trimmed()
        typer.echo(("\n" if number else "") + shown.fitted(terminal_width(), bold=sys.stdout.isatty()), nl=False)
        if told:
            show("")
            print_wrapped(f"{'; '.join(told)}. --all shows them.")


def print_wrapped(text: str) -> None:
    """Write a sentence to stdout, in lines of the terminal's width."""
    show(textwrap.fill(text, terminal_width(), break_long_words=False, break_on_hyphens=False))


def terminal_width() -> int:
    """Characters of a line of the terminal; `WIDTH` where there is no terminal."""
    return shutil.get_terminal_size((WIDTH, 24)).columns


def _is_zero(field: str) -> bool:
    """True if a field is a number that is 0."""
    try:
        return float(field) == 0
    except ValueError:
        return False
