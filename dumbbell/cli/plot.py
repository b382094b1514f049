"""`dumbbell plot DIR`: figures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.cli.figure_options import FromOption, SizeOption, ToOption, view_of
from dumbbell.cli.output import JsonOption, note, print_json
from dumbbell.cli.progress import progress_bar
from dumbbell.errors import BadInput
from dumbbell.files import creatable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dumbbell.results import Run
    from dumbbell.studies.folder import Folder
    from dumbbell.studies.study import View

_LONGEST_SLUG = 150
"""Characters of a file name that say which run it is."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="plot")(_plot)


def _plot(
    what: Annotated[str, typer.Argument(metavar="DIR|STUDY", help="Results folder, or a study whose results are in DIR.")],
    of_study: Annotated[Path | None, typer.Argument(metavar="DIR", help="Of a study; results/STUDY by default.")] = None,
    figure: Annotated[
        list[str] | None, typer.Option("--figure", help="A figure by name, or by its number in the study; repeatable, all by default.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", callback=creatable, help="Folder of the figures; DIR/figures by default.")] = None,
    size: SizeOption = "screen",
    from_s: FromOption = 0.0,
    to_s: ToOption = None,
    listed: Annotated[bool, typer.Option("--list", help="Only name the figures there are.")] = False,
    json: JsonOption = False,
) -> None:
    """Draw figures as PNG and SVG: those of the study, and each run over time by its name."""
    from dumbbell.drawing import style
    from dumbbell.scenario import nearest
    from dumbbell.studies.folder import open_folder

    view = view_of(size, from_s, to_s)
    folder = _folder(what, of_study)
    opened = open_folder(folder)
    studied, of_runs = _study_figures(opened), _run_figures(opened)
    known = {**of_runs, **_cell_figures(opened), **studied}
    if listed:
        print_json(list(known)) if json else typer.echo("\n".join(known))
        return
    asked = list(figure or studied or of_runs)
    names = [f"figure-{name}" if name.isdigit() else name for name in asked]
    for given, name in zip(asked, names, strict=True):
        if name not in known:
            raise BadInput(f"figure {given!r} is unknown{nearest(name, known)}; expected one that `dumbbell plot {folder} --list` names")
    target = out or opened.path / "figures"
    written: list[Path] = []
    with progress_bar("drawing", "figures") as progress:
        progress(0, len(names))
        for done, name in enumerate(names, 1):
            written += style.save(known[name](view), target, name)
            progress(done, len(names))
    if json:
        print_json([str(path) for path in written])
    note(f"{len(names)} {'figure' if len(names) == 1 else 'figures'} in {target}: {', '.join(names)}")


def _folder(what: str, of_study: Path | None) -> Path:
    """The results folder that the arguments name. Raises `BadInput` if it belongs to another study."""
    from dumbbell.studies import find_part, find_study, study_names
    from dumbbell.studies.folder import default_folder, open_folder

    if of_study is None and (what not in study_names() or Path(what).is_dir()):
        return Path(what)
    study = find_study(what)
    folder = of_study or default_folder(*find_part(what))
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such folder; expected what `dumbbell reproduce {study.name} --out {folder}` leaves")
    found = open_folder(folder).study
    if found is not study:
        raise BadInput(f"{folder}: holds {f'the study {found.name}' if found else 'no study'}; expected the study {study.name}")
    return folder


def _study_figures(opened: Folder) -> Mapping[str, Callable[[View], Figure]]:
    return {} if opened.part is None else {name: partial(draw, opened.runs) for name, draw in opened.part.figures.items()}


def _cell_figures(opened: Folder) -> Mapping[str, Callable[[View], Figure]]:
    return {} if opened.part is None else opened.part.cell_figures(opened.runs)


def _run_figures(opened: Folder) -> Mapping[str, Callable[[View], Figure]]:
    slugs = Counter(map(_slug, opened.runs))

    def name(run: Run) -> str:
        slug = _slug(run)
        return f"run-{slug}" if slugs[slug] == 1 else f"run-{slug}-{run.key[:8]}"

    return {name(run): partial(_draw_run, run) for run in opened.runs}


def _draw_run(run: Run, view: View) -> Figure:
    from dumbbell.drawing.run_figure import run_figure

    return run_figure(run, view.size, view.start_s, view.stop_s)


def _slug(run: Run) -> str:
    """The run's cell as part of a file name; several runs may have the same."""
    cell = "-".join(f"{key.rsplit('.', 1)[-1]}-{value}" for key, value in run.cell.items()) or run.name
    return re.sub(r"[^A-Za-z0-9._-]+", "_", cell)[:_LONGEST_SLUG]
