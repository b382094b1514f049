"""The window that tables and figures of many runs are made over: options, and what heads say of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.cli.output import note
from dumbbell.results.windowed import Window, measured_window

if TYPE_CHECKING:
    from dumbbell.results import Outline

FromTimeOption = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="Start of the window for metrics, such as 40s. Use it to leave out a warm-up."),
]
UntilOption = Annotated[str | None, typer.Option("--until", metavar="TIME", help="End of that window. Default: the end of the run.")]


def headed(path: Path, runs: Sequence[Outline], window: Window) -> str:
    """The head of a table: the folder, and the window if it is not the whole run. Warns if the goodput of a group is not steady in it."""
    from dumbbell.results.folder import run_of

    if not runs:
        return str(path)
    first = run_of(path)(runs[0])
    used = measured_window(first) if window.is_whole else window
    duration_s = (first.plan or {}).get("duration_ns", 0) / 1e9
    if duration_s:
        from dumbbell.comparing.steadiness import warnings

        try:
            lines = warnings(runs, used, duration_s)
        except ModuleNotFoundError as missing:
            lines = [f"{missing.name} is not installed: no warning tells of goodput that is not steady"]
        for line in lines:
            note(line)
    return str(path) if used.is_whole else f"{path}, {used.words}"
