"""Output shared by all commands: results (tables or JSON) go to stdout, messages to stderr."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from dumbbell.cli.streams import say
from dumbbell.errors import printable, printable_lines

JsonOption = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]


def print_json(value: Any) -> None:
    """Writes a value as JSON to stdout."""
    show(json.dumps(value, indent=1, allow_nan=False))


def note(text: str) -> None:
    """Writes a line to stderr; a progress bar, which redirects `sys.stderr`, shows it above itself."""
    say(f"{text}\n")


def show(text: str, end: str = "\n") -> None:
    """Writes to stdout, and nothing that a terminal interprets: names in it may be from somebody else."""
    typer.echo("\t".join(map(printable_lines, text.split("\t"))) + end, nl=False)


def print_columns(rows: Sequence[Sequence[object]]) -> None:
    """Writes rows to stdout, columns aligned."""
    texts = [[printable(str(value)) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        show("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def human_time(seconds: float) -> str:
    """`0.3 s`, `12 s`, `4 min 10 s`, `2 h 5 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def human_size(count: float) -> str:
    """`512 B`, `3.1 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def human_count(count: float) -> str:
    """`512`, `3.1 k`, `12.0 M`."""
    for factor, unit in ((1e6, "M"), (1e3, "k")):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count:.0f}"
