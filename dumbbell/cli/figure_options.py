"""Options of figures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.drawing.style import Format
    from dumbbell.studies import View

SIZES = ("screen", "one-column", "two-column", "print")
"""Names that `--size` takes."""

SizeOption = Annotated[
    str, typer.Option("--size", help="screen, or for a paper at 300 dpi: one-column (3.4 inches wide), two-column (7.1; also: print).")
]
FromOption = Annotated[float, typer.Option("--from", min=0.0, help="Start of the time axis, s.")]
ToOption = Annotated[float | None, typer.Option("--to", help="End of the time axis, s.")]
FormatsOption = Annotated[
    list[str] | None, typer.Option("--format", help="png, svg (texts as text) or pdf; repeatable, png and svg by default.")
]


def view_of(size: str, from_s: float, to_s: float | None) -> View:
    """Size and time range of a figure. Raises `BadInput` if the size is unknown or the range is empty."""
    from dumbbell.studies import View

    if size not in SIZES:
        raise BadInput(f"--size {size!r} is unknown; expected {', '.join(SIZES[:-1])} or {SIZES[-1]}")
    stop_s = math.inf if to_s is None else to_s
    if not math.isfinite(from_s):
        raise BadInput(f"--from {from_s:g} is no time; expected a number of s")
    if math.isnan(stop_s):
        raise BadInput("--to nan is no time; expected a number of s")
    if stop_s <= from_s:
        raise BadInput(f"--to {stop_s:g} is not after --from {from_s:g}; expected a time in s above it")
    return View(size, from_s, stop_s)  # type: ignore[arg-type]


def formats_of(asked: Sequence[str] | None) -> list[Format]:
    """The formats of files, `png,pdf` or one by one. Raises `BadInput` for one that is unknown."""
    from dumbbell.drawing.style import FORMATS

    names = [name.strip().lower() for each in asked or ("png", "svg") for name in each.split(",")]
    for name in names:
        if name not in FORMATS:
            raise BadInput(f"--format {name!r} is unknown; expected {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    return [each for each in FORMATS if each in names]
