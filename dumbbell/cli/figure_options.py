"""Options of figures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.cli.streams import redirected_here
from dumbbell.errors import BadInput
from dumbbell.files import creatable
from dumbbell.scenario.units import Duration
from dumbbell.study import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.drawing.style import Format

SIZES = ("screen", "one-column", "two-column", "print")
"""Names that `--size` takes."""


def seconds_of(text: str | float) -> float:
    """A time on the command line, `40s` or `40`, in seconds. Raises `BadInput` for something else."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return int(Duration.parse(str(text))) / 1e9
    except ValueError as error:
        raise BadInput(f"{text!r}: {error}; expected a time such as 40s") from None


SizeOption = Annotated[
    str,
    typer.Option(
        "--size", help="screen, or for a paper at 300 dpi: one-column (3.4 inches wide) or two-column (7.1 inches, also called print)."
    ),
]
FromOption = Annotated[
    float,
    typer.Option("--from", parser=seconds_of, metavar="TIME", help="Start of the time axis, or of the window for metrics."),
]
ToOption = Annotated[
    float | None,
    typer.Option("--to", "--until", parser=seconds_of, metavar="TIME", help="End of the time axis, or of the window."),
]
InOrderOption = Annotated[
    bool, typer.Option("--in-order", help="For a single run: draw goodput as the application reads it, in place of the delivery rate.")
]
FormatsOption = Annotated[
    list[str] | None, typer.Option("--format", help="png, svg (texts as text) or pdf. Default: repeatable, png and svg.")
]


def folder_of_figures(path: Path | None) -> Path | None:
    """The folder that figures go to. Raises `BadInput` if it cannot be made, or is called like a figure."""
    from dumbbell.drawing.style import FORMATS

    if path is not None and path.suffix.lower().lstrip(".") in FORMATS and not path.is_dir():
        form = path.suffix.lower().lstrip(".")
        raise BadInput(f"--out {path} is called like a figure; expected a folder (figures have names of their own), and --format {form}")
    return creatable(path)


def no_redirect(where: list[str] | None) -> list[str] | None:
    """Conditions as they were given. Raises `BadInput` for one that a shell has taken for a redirect: `--where a>b` without quotes."""
    for each in where or ():
        target = redirected_here() if "=" not in each else None
        if target is not None:
            hint = f"the shell took an unquoted > for a redirect, and has made the file {target!r}"
            raise BadInput(f"--where {each!r} has no =, since {hint}; expected KEY=VALUE")
    return where


def view_of(size: str, from_s: float, to_s: float | None) -> View:
    """Size and time range of a figure. Raises `BadInput` if the size is unknown or the range is empty."""
    if size not in SIZES:
        raise BadInput(f"--size {size!r} is unknown; expected {', '.join(SIZES[:-1])} or {SIZES[-1]}")
    stop_s = math.inf if to_s is None else to_s
    if not math.isfinite(from_s):
        raise BadInput(f"--from {from_s:g} is no time; expected a number of s")
    if from_s < 0:
        raise BadInput(f"--from {from_s:g} is before the run; expected a time such as 40s")
    if math.isnan(stop_s):
        raise BadInput("--to nan is no time; expected a number of s")
    if stop_s <= from_s:
        raise BadInput(f"--to {stop_s:g} is not after --from {from_s:g}; expected a time in s above it")
    return View(size, from_s, stop_s)  # type: ignore[arg-type]


def view_named(name: str, view: View) -> str:
    """Return the name of a figure, with its size and its range of times if they are not the usual ones."""
    times = (f"-from-{view.start_s:g}s" if view.start_s else "") + ("" if math.isinf(view.stop_s) else f"-to-{view.stop_s:g}s")
    times += "-in-order" if view.in_order else ""
    return f"{name}{times}{'' if view.size == 'screen' else f'-{view.size}'}"


def formats_of(asked: Sequence[str] | None) -> list[Format]:
    """The formats of files, `png,pdf` or one by one. Raises `BadInput` for one that is unknown."""
    from dumbbell.drawing.style import FORMATS

    names = [name.strip().lower() for each in asked or ("png", "svg") for name in each.split(",")]
    for name in names:
        if name not in FORMATS:
            raise BadInput(f"--format {name!r} is unknown; expected {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    return [each for each in FORMATS if each in names]
