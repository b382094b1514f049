"""`dumbbell plot DIR`: figures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.cli.figure_options import (
    FormatsOption,
    FromOption,
    InOrderOption,
    SizeOption,
    ToOption,
    folder_of_figures,
    formats_of,
    view_named,
    view_of,
)
from dumbbell.cli.look.plot_across import (
    ByOption,
    KindOption,
    LabelOption,
    LogOption,
    Output,
    OverOption,
    PanelsOption,
    PerOption,
    SamplesOption,
    StatisticOption,
    TitleOption,
    WhereOption,
    WindowOption,
    XLabelOption,
    XLimOption,
    XOption,
    YLabelOption,
    YLimOption,
    YOption,
    draw_across,
    no_title,
    scales_of,
    wording_of,
)
from dumbbell.cli.output import JsonOption, note, print_json, show
from dumbbell.cli.progress import progress_bar
from dumbbell.comparing.across.questions import Asked
from dumbbell.errors import BadInput, nearest
from dumbbell.results import Run
from dumbbell.results.folder import open_folder, read_request
from dumbbell.study import View, find_part, find_study, study_names
from dumbbell.study.folders import default_folder, find_folder, part_of, study_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    Figures = Mapping[str, Callable[[View], Figure]]
    """Name of a figure -> what draws it."""

_LONGEST_SLUG = 150
"""Characters of a file name that say which run it is."""


def command(
    what: Annotated[
        list[str],
        typer.Argument(metavar="DIR...|STUDY [DIR]", help="Results folders, or a study and its folder."),
    ],
    figure: Annotated[
        list[str] | None,
        typer.Option(
            "--figure", help="A figure of the study, by name or number, or of a single run. Repeatable. --list names the figures."
        ),
    ] = None,
    kind: KindOption = None,
    x: XOption = None,
    y: YOption = None,
    by: ByOption = None,
    panels: PanelsOption = None,
    where: WhereOption = None,
    over: OverOption = None,
    per: PerOption = None,
    statistic: StatisticOption = None,
    samples: SamplesOption = False,
    window: WindowOption = None,
    title: TitleOption = None,
    x_label: XLabelOption = "",
    y_label: YLabelOption = "",
    label: LabelOption = None,
    log: LogOption = None,
    xlim: XLimOption = None,
    ylim: YLimOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", callback=folder_of_figures, help="Folder of the figures, made if missing. Default: DIR/figures."),
    ] = None,
    formats: FormatsOption = None,
    size: SizeOption = "screen",
    from_s: FromOption = 0.0,
    to_s: ToOption = None,
    in_order: InOrderOption = False,
    listed: Annotated[bool, typer.Option("--list", help="Only print the names of the figures.")] = False,
    json: JsonOption = False,
) -> None:
    """Draw figures.

    A study has figures of its own. For one run dumbbell draws that run over time, for several runs a summary. Options ask for another:

    dumbbell plot results/queues --x rtt --y goodput --by group
    """
    output = Output(replace(view_of(size, from_s, to_s), in_order=in_order), formats_of(formats), out)
    wording = wording_of(title, x_label, y_label, label or ())
    titled, scales = not no_title(title), scales_of(log or (), xlim, ylim)
    asked = Asked(
        kind=kind,
        x=x,
        y=tuple(y or ()),
        by=tuple(by or ()),
        panels=panels,
        where=tuple(where or ()),
        over=tuple(over or ()),
        per=per,
        statistic=statistic,
        samples=samples,
        window_s=window,
    )
    folders, is_study = _folders(what)
    if figure or listed:
        if asked != Asked():
            raise BadInput(f"{'--figure' if figure else '--list'} was given with options of figures of many runs; expected one of the two")
        if len(folders) > 1:
            raise BadInput(f"{'--figure' if figure else '--list'} was given with {len(folders)} folders; expected one")
    if listed and (out is not None or formats or size != "screen" or from_s or to_s is not None):
        raise BadInput("--list was given with options of figures, and draws none; expected it alone")
    across = asked != Asked() or len(folders) > 1 or not (figure or listed or is_study)
    written = draw_across(folders, None if asked == Asked() else asked, wording, scales, output) if across else None
    if written is None:
        texts = {
            "--title": title is not None and titled,
            "--x-label": x_label,
            "--y-label": y_label,
            "--label": label,
            "--log": log,
            "--xlim": xlim,
            "--ylim": ylim,
        }
        if given := next((option for option, text in texts.items() if text), None):
            raise BadInput(f"{given} was given for a figure whose texts and axes are its own; expected it with --x, --y, --by or --kind")
        written = _named_figures(folders[0], figure, listed, json, output, titled)
    if json and not listed:
        print_json([str(path) for path in written])


def _named_figures(folder: Path, figure: list[str] | None, listed: bool, json: bool, output: Output, titled: bool) -> list[Path]:
    """Draws figures by their names: those of a study or, if none are named, all of them; else those of single runs."""
    from dumbbell.drawing import style
    from dumbbell.drawing.layout import untitled

    opened = open_folder(find_folder(folder))
    part = part_of(opened)
    studied: Figures = {} if part is None else {name: partial(draw, opened.runs) for name, draw in part.figures.items()}
    of_cells: Figures = {} if part is None else part.cell_figures(opened.runs)
    of_runs = _run_figures(opened.runs)
    known: Figures = {**of_runs, **of_cells, **studied}
    if listed:
        print_json(list(known)) if json else show("\n".join(known))
        return []
    asked = list(figure or studied or of_runs)
    names = [f"figure-{name}" if name.isdigit() else name for name in asked]
    for given, name in zip(asked, names, strict=True):
        if name not in known:
            raise BadInput(f"figure {given!r} is unknown{nearest(name, known)}; expected one that `dumbbell plot {folder} --list` names")
    if output.view.in_order and (other := next((name for name in names if name not in of_runs), None)) is not None:
        raise BadInput(f"--in-order was given for the figure {other}; expected it for the figure of a single run")
    place, within = output.figures(opened.path)
    target = place / within
    new = "" if target.is_dir() else "the new folder "
    written: list[Path] = []
    with progress_bar("drawing", "figures") as progress, nullcontext() if titled else untitled():
        progress(0, len(names))
        for done, name in enumerate(names, 1):
            written += style.save(known[name](output.view), place, f"{within}{view_named(name, output.view)}", output.formats)
            progress(done, len(names))
    shown = ", ".join(view_named(name, output.view) for name in names)
    note(f"{len(names)} {'figure' if len(names) == 1 else 'figures'} in {new}{target}: {shown}")
    return written


def _folders(what: list[str]) -> tuple[list[Path], bool]:
    """Return the results folders that the arguments name, and true if their content is a study's."""
    first = Path(what[0])
    if first.parts and not first.is_dir() and first.parts[0] in study_names():
        if len(what) > 2:
            raise BadInput(f"{' '.join(what)}: is a study and several folders; expected a study and its folder, or folders")
        return [_folder(what[0], Path(what[1]) if len(what) > 1 else None)], True
    for each in what if len(what) > 1 else ():
        if not Path(each).is_dir():
            if each in study_names():
                raise BadInput(f"{each}: is a study; expected it first: `dumbbell plot {each} {what[0]}`")
            raise BadInput(f"{each}: no such folder, and no study; expected folders of results, or a study and its folder")
    return [Path(each) for each in what], len(what) == 1 and bool(read_request(find_folder(Path(what[0]))))


def _folder(what: str, of_study: Path | None) -> Path:
    """The results folder of a study, by default that of its name. Raises `BadInput` if it belongs to another study."""
    if of_study is None and "/" in what:
        return Path(what)  # the folder of a part: whoever opens the part finds its folder
    study = find_study(what)
    folder = of_study or default_folder(*find_part(what))
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such folder; expected what `dumbbell reproduce {study.name} --out {folder}` leaves")
    found = study_of(open_folder(folder))
    if found is None or found[0] is not study:
        raise BadInput(f"{folder}: holds {f'the study {found[0].name}' if found else 'no study'}; expected the study {study.name}")
    return folder


def _run_figures(runs: Sequence[Run]) -> Figures:
    slugs = Counter(map(_slug, runs))

    def name(run: Run) -> str:
        slug = _slug(run)
        return f"run-{slug}" if slugs[slug] == 1 else f"run-{slug}-{run.key[:8]}"

    return {name(run): partial(_draw_run, run) for run in runs}


def _draw_run(run: Run, view: View) -> Figure:
    from dumbbell.drawing.run_figure import run_figure

    return run_figure(run, view.size, view.start_s, view.stop_s, view.in_order)


def _slug(run: Run) -> str:
    """The run's cell as part of a file name; several runs may have the same."""
    cell = "-".join(f"{key.rsplit('.', 1)[-1]}-{value}" for key, value in run.cell.items()) or run.name
    return re.sub(r"[^A-Za-z0-9._-]+", "_", cell)[:_LONGEST_SLUG]
