"""Options of figures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.errors import BadInput

if TYPE_CHECKING:
    from dumbbell.studies import View

SizeOption = Annotated[str, typer.Option("--size", help="print (7.1 inches wide, 300 dpi) or screen.")]
FromOption = Annotated[float, typer.Option("--from", min=0.0, help="Start of the time axis, s.")]
ToOption = Annotated[float | None, typer.Option("--to", help="End of the time axis, s.")]


def view_of(size: str, from_s: float, to_s: float | None) -> View:
    """Size and time range of a figure. Raises `BadInput` if the size is unknown or the range is empty."""
    from dumbbell.studies import View

    if size not in ("print", "screen"):
        raise BadInput(f"--size {size!r} is unknown; expected print or screen")
    stop_s = math.inf if to_s is None else to_s
    if not math.isfinite(from_s):
        raise BadInput(f"--from {from_s:g} is no time; expected a number of s")
    if math.isnan(stop_s):
        raise BadInput("--to nan is no time; expected a number of s")
    if stop_s <= from_s:
        raise BadInput(f"--to {stop_s:g} is not after --from {from_s:g}; expected a time in s above it")
    return View(size, from_s, stop_s)  # type: ignore[arg-type]
