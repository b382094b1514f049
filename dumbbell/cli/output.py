"""What commands share: JSON on stdout alone, everything else on stderr, a progress bar on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from dumbbell.engines.execute import Progress

JsonOption = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]
WorkersOption = Annotated[int | None, typer.Option("--workers", min=1, help="Runs at a time; all processors by default.")]


def print_json(value: Any) -> None:
    """Writes a value as JSON to stdout."""
    typer.echo(json.dumps(value, indent=1, allow_nan=False))


def note(text: str) -> None:
    """Writes a line to stderr."""
    typer.echo(text, err=True)


def print_columns(rows: Sequence[Sequence[object]]) -> None:
    """Writes rows to stdout, columns aligned."""
    texts = [[str(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        typer.echo("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


@contextmanager
def progress_bar(what: str, unit: str = "runs") -> Iterator[Progress]:
    """A callback that moves a bar on stderr, or writes a line every tenth where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield _tenths(what, unit)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _tenths(what: str, unit: str) -> Progress:
    """Writes a line whenever another tenth of at least ten is done."""
    told = 0

    def tell(done: int, total: int) -> None:
        nonlocal told
        tenth = 10 * done // total if total >= 10 else 0
        if tenth > told:
            told = tenth
            note(f"{what}: {done} of {total} {unit}")

    return tell


def human_time(seconds: float) -> str:
    """`0.3 s`, `12 s`, `4 min 10 s`, `2 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
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
