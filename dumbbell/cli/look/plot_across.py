"""Options of `dumbbell plot` for figures of many runs, and drawing these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.cli.figure_options import no_redirect, view_named
from dumbbell.cli.output import note
from dumbbell.cli.progress import progress_bar
from dumbbell.cli.sources import runs_of_folders
from dumbbell.comparing.across.questions import Asked, Settled, settle, summary
from dumbbell.comparing.across.words import COMMAND
from dumbbell.errors import BadInput
from dumbbell.results.windowed import WHOLE, Window
from dumbbell.study import View

if TYPE_CHECKING:
    from dumbbell.drawing.across.scales import Limits, Scales
    from dumbbell.drawing.across.wording import Wording
    from dumbbell.drawing.layout import Way
    from dumbbell.drawing.style import Format

KindOption = Annotated[
    str | None,
    typer.Option(
        "--kind", help="lines, box, cdf, ccdf (shares above, for tails), scatter (ellipses over seeds), heat (two keys: --x, --by)."
    ),
]
XOption = Annotated[
    str | None,
    typer.Option("--x", help="A key of the sweep or its last word (path.rtt, rtt), or time. For a scatter plot, a column."),
]
YOption = Annotated[
    list[str] | None,
    typer.Option("--y", help="A column of `dumbbell table`, with or without its unit, or a series. Repeatable."),
]
ByOption = Annotated[
    list[str] | None,
    typer.Option(
        "--by", help="A key, or flow, group, cc, direction, folder, engine. The first sets the colours, a second the styles of lines."
    ),
]
PanelsOption = Annotated[str | None, typer.Option("--panels", help="A key. Each of its values gets a panel.")]
WhereOption = Annotated[
    list[str] | None,
    typer.Option("--where", metavar="KEY=VALUE", callback=no_redirect, help="Only these runs or flows. Repeatable."),
]
OverOption = Annotated[list[str] | None, typer.Option("--over", help="A key whose values dumbbell pools. Repeatable.")]
PerOption = Annotated[str | None, typer.Option("--per", help="Draw a value for each run, flow, group, stream or port.")]
StatisticOption = Annotated[
    str | None,
    typer.Option("--statistic", help="mean or median, each with its 95 % interval, or spread: median, 5th to 95th percentile."),
]
SamplesOption = Annotated[
    bool,
    typer.Option("--samples", help="For cdf and box: draw all samples of the series, not one number per run or flow."),
]
WindowOption = Annotated[float | None, typer.Option("--window", help="For goodput over time: average over this many s.")]
TitleOption = Annotated[
    str | None,
    typer.Option("--title", help="Title. Default: none: no title, nor the line below it. Figures at the sizes of papers have none."),
]
XLabelOption = Annotated[str, typer.Option("--x-label", help="Label of the x axis, in place of the key.")]
YLabelOption = Annotated[str, typer.Option("--y-label", help="Label of the y axis, in place of the column.")]
LabelOption = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="NAME=TEXT", help="Text for a value or a key in the figure. Repeatable."),
]

LogOption = Annotated[list[str] | None, typer.Option("--log", help="Draw the x or the y axis logarithmic. Repeatable.")]
XLimOption = Annotated[str | None, typer.Option("--xlim", metavar="LOW,HIGH", help="Ends of the x axis. You may leave out one: 0.1,")]
YLimOption = Annotated[str | None, typer.Option("--ylim", metavar="LOW,HIGH", help="Ends of the y axis. You may leave out one: ,50")]


@dataclass(frozen=True)
class Output:
    """Destination and form of figures."""

    view: View
    formats: Sequence[Format]
    out: Path | None

    def figures(self, results: Path) -> tuple[Path, str]:
        """Return where figures of a results folder go: a folder that the user has chosen, and the place in it."""
        return (results, "figures/") if self.out is None else (self.out, "")


def no_title(title: str | None) -> bool:
    """True if a figure is to have no title."""
    from dumbbell.drawing.across.wording import NONE

    return title in ("", NONE)


def wording_of(title: str | None, x_label: str, y_label: str, labels: Sequence[str]) -> Wording:
    """The texts that were set. Raises `BadInput` for a label that is not NAME=TEXT."""
    from dumbbell.drawing.across.wording import Wording

    names = {}
    for each in labels:
        name, equals, text = each.rpartition("=")
        if not equals or not name:
            raise BadInput(f"--label {each!r}: expected NAME=TEXT")
        names[name] = text
    return Wording(title, x_label, y_label, names)


def scales_of(log: Sequence[str], xlim: str | None, ylim: str | None) -> Scales:
    """The axes that were set. Raises `BadInput` for an axis that there is not, or limits that are none."""
    from dumbbell.drawing.across.scales import Scales, limits_of, logarithmic

    texts: dict[Way, str | None] = {"x": xlim, "y": ylim}
    limits: dict[Way, Limits] = {way: limits_of(f"--{way}lim", text) for way, text in texts.items() if text is not None}
    return Scales(logarithmic("--log", log), limits)


def draw_across(folders: Sequence[Path], asked: Asked | None, wording: Wording, scales: Scales, output: Output) -> list[Path] | None:
    """Draw the requested figure, or the summary of a sweep, and write it. It says what it will draw before it does.

    Returns None if nothing is requested and there is one run alone.
    """
    window = WHOLE if asked is not None and asked.is_over_time else Window(output.view.start_s, output.view.stop_s)
    sources, paths = runs_of_folders(folders, window)
    if asked is None and sum(len(source.runs) for source in sources) < 2 and len(folders) == 1:
        return None
    with ExitStack() as shown:
        bars: list[Callable[[int, int], None]] = []

        def progress(done: int, count: int) -> None:
            if not bars:  # most figures read no series
                bars.append(shown.enter_context(progress_bar("reading samples", "runs")))
            bars[0](done, count)

        settled = summary(sources) if asked is None else settle(asked, sources, progress)
    return _draw(settled, asked is None, wording, scales, output, paths)


def _draw(settled: Settled, is_summary: bool, wording: Wording, scales: Scales, output: Output, paths: Sequence[Path]) -> list[Path]:
    from dumbbell.drawing import style
    from dumbbell.drawing.across.figure import across_figure, as_file_name, describe, file_name

    view = output.view
    if view.in_order:
        raise BadInput("--in-order was given for a figure of many runs; expected --x time --y goodput for goodput over time")
    runs = f"{settled.runs} {'run' if settled.runs == 1 else 'runs'}"
    note(f"drawing {settled.sentence()}, {runs}: {describe(settled, view.start_s, view.stop_s)}")
    if settled.pooled and is_summary:
        key = settled.pooled[0]
        value = next(filter(None, map(str, settled.keys[key])))
        shows = [COMMAND.offered("x", key), COMMAND.offered("panels", key), COMMAND.offered("where", f"{key}={value}")]
        note(f"note: {key} has no place in one figure: {shows[0]}, {shows[1]} or {shows[2]} shows it")
    figure = across_figure(settled, wording, view.size, view.start_s, view.stop_s, scales)
    place, within = output.figures(paths[0])
    target = place / within
    new = "" if target.is_dir() else "the new folder "
    others = "".join(f"-with-{path.resolve().name}" for path in paths[1:])
    name = as_file_name(view_named(f"{'summary' if is_summary else file_name(settled)}{scales.words}{others}", view))
    written = style.save(figure, place, f"{within}{name}", output.formats)
    note(f"1 figure in {new}{target}: {name}{', '.join(path.suffix for path in written)}")
    return written
