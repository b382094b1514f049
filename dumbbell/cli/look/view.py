"""`dumbbell view DIR...|FILE.pcap`: the explorer in the browser, or as one file."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dumbbell.cli.output import human_size, note
from dumbbell.errors import BadInput, nearest
from dumbbell.files import creatable, temporary, write_file
from dumbbell.results.folder import find_store, open_folder, read_request
from dumbbell.scenario.units import Size
from dumbbell.study.folders import find_folder
from dumbbell.study.reproduction import beside_published

if TYPE_CHECKING:
    from dumbbell.explorer.collection import Collection
    from dumbbell.explorer.export import Heading


_TABS = {
    "overview": "overview",
    "series": "series",
    "statistics": "statistics",
    "sweep": "sweep",
    "reference": "reference",
    "run": "details",
}
"""Views as users and as the page call them."""


def _page(path: Path | None) -> Path | None:
    """The path of a page. Raises `BadInput` if it cannot be written there, or is surely a slip."""
    if path is None:
        return None
    if path.suffix not in (".html", ".htm"):
        raise BadInput(f"--export {path}: expected the name of a page, which ends with .html")
    if not path.parent.exists() and not path.parent.parent.exists():
        raise BadInput(f"--export {path}: neither the folder nor the one above it is there; expected a folder, or a new one in a folder")
    return creatable(path)


def command(
    what: Annotated[list[Path], typer.Argument(metavar="DIR...|FILE.pcap", help="Results folders, studies, or a capture of any program.")],
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="PAGE.html", callback=_page, help="Write the page as one file that loads nothing else."),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="With --export: keep every series of every run. Default: the series of the first view, up to about 2 MB."
        ),
    ] = False,
    points: Annotated[
        int | None,
        typer.Option(
            "--points",
            min=1000,
            help="With --export: reduce a longer series to the minimum and maximum of equal parts. Default: 200,000, with --all no limit.",
        ),
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option(
            "--limit",
            metavar="SIZE",
            help="With --export: maximum size of the page, such as 300kB. dumbbell leaves out series to reach it.",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="With --export: the heading, in place of the folder's name.")
    ] = None,
    abstract: Annotated[
        str | None,
        typer.Option("--abstract", metavar="TEXT", help="With --export: a paragraph below the heading, for your readers."),
    ] = None,
    tab: Annotated[
        str | None, typer.Option("--tab", metavar="VIEW", help=f"With --export: the view that it opens on: {', '.join(_TABS)}.")
    ] = None,
    port: Annotated[int | None, typer.Option("--port", min=1, max=65535, help="Port on 127.0.0.1. Default: a free one.")] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
) -> None:
    """Explore results, or any capture, in the browser: runs laid over each other, sweeps as heat maps, packets."""
    headed = {"--title": title is not None, "--abstract": abstract is not None, "--tab": tab is not None}
    given = {"--all": everything, "--points": points is not None, "--limit": limit is not None, **headed}
    if export is None and (alone := next((name for name, is_given in given.items() if is_given), None)):
        raise BadInput(f"{alone} was given without --export; expected both")
    if everything and limit is not None:
        raise BadInput("--all and --limit were both given; expected one of them")
    if export is not None and port is not None:
        raise BadInput("--port and --export were both given; expected one of them")
    if tab is not None and tab not in _TABS:
        raise BadInput(f"--tab {tab}: no such view{nearest(tab, _TABS)}; expected one of {', '.join(_TABS)}")
    from dumbbell.explorer.export import Heading

    collection, name = _opened(what[0]) if len(what) == 1 else _several(what)
    if export is not None:
        _write(collection, export, everything, points, limit, Heading(title, abstract, _TABS[tab] if tab else None))
        return
    collection.keys()  # an error in reading is reported before a server is there
    from dumbbell.explorer.server import Server, Site

    with Server(Site(collection, name), port or 0) as server:
        note(f"{name}: {server.address} (Ctrl-C ends it)")
        with ExitStack() as while_serving:
            if browser:
                webbrowser.open(while_serving.enter_context(_redirection(server.address)))
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                note("ended")


@contextmanager
def _redirection(address: str) -> Iterator[str]:
    """The address of a page that only this user can read, and that leads to another address.

    The arguments of a browser can be read by every user of the machine, so that they must not have the token in them.
    """
    with temporary(Path(tempfile.mkdtemp(prefix="dumbbell-view-"))) as folder:
        page = folder / "view.html"
        with open(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(f'<!doctype html><title>dumbbell</title><meta http-equiv="refresh" content="0; url={address}">\n')
        yield page.as_uri()


def _several(folders: Sequence[Path]) -> tuple[Collection, str]:
    """Several folders as one, by their names, or by their paths where names are the same."""
    from dumbbell.explorer.several import Several

    if files := [str(each) for each in folders if each.is_file()]:
        raise BadInput(f"{files[0]}: a capture cannot be shown with other places; expected the capture alone, or folders of results")
    found = [_opened(each) for each in folders]
    alike = len({title for _, title in found}) < len(found)
    names = [str(folder) if alike else title for folder, (_, title) in zip(folders, found, strict=True)]
    if len(set(names)) < len(names):
        raise BadInput(f"{names[0]}: given twice; expected different folders")
    return Several({name: collection for name, (collection, _) in zip(names, found, strict=True)}), ", ".join(names)


def _opened(what: Path) -> tuple[Collection, str]:
    """Return the collection to show, and its name."""
    if what.is_file():
        from dumbbell.explorer.capture import Capture
        from dumbbell.results import check_capture

        check_capture(what)
        return Capture(what, what.name), what.name
    from dumbbell.explorer.runs import Runs

    folder = find_folder(what)
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such folder or file; expected a results folder written by dumbbell, or a capture")
    from dumbbell.agreement.explored import is_comparison

    if is_comparison(folder):
        return _of_engines(folder), folder.resolve().name
    return Runs(find_store(folder), folder.resolve().name, lambda: _agreement(folder), _study(folder)), folder.resolve().name


def _of_engines(folder: Path) -> Collection:
    """Return the runs of both engines that `dumbbell agree` or `dumbbell regress` compared, with their differences."""
    from dumbbell.agreement.explored import comparison_document, engines_of
    from dumbbell.explorer.runs import Runs
    from dumbbell.explorer.several import Several

    collections = {name: Runs(find_store(folder / name), name) for name in engines_of(folder)}
    return Several(collections, lambda: comparison_document(folder))


def _study(folder: Path) -> dict[str, Any] | None:
    """Title and source of the study that a folder is of; None for other folders."""
    from dumbbell.results.folder import open_folder, read_request
    from dumbbell.study.folders import study_of

    found = study_of(open_folder(folder)) if read_request(folder) else None
    return found and {"title": found[0].title, "source": found[0].source}


def _agreement(folder: Path) -> dict[str, Any] | None:
    """Dumbbell's and the reference's numbers of a study's folder, cell by cell; None for other folders."""
    from dumbbell.explorer.reference import reference_document

    if not read_request(folder) or not (folder / "agreement.json").is_file():
        return None
    opened = open_folder(folder)
    return reference_document(beside_published(opened), opened.runs)


def _write(collection: Collection, path: Path, everything: bool, points: int | None, limit: str | None, heading: Heading) -> None:
    from dumbbell.explorer.export import MOST_POINTS, Extent, export

    try:
        most_bytes = None if limit is None else int(Size.parse(limit))
    except ValueError as error:
        raise BadInput(f"--limit {error}") from None
    extent = Extent(everything, points if points is not None or everything else MOST_POINTS, most_bytes)
    page = export(collection, extent, heading)
    if most_bytes is not None and len(page.content) > most_bytes:
        least = human_size(len(page.content))
        raise BadInput(
            f"--limit {limit}: the page takes {least} with as few runs' series as it has; expected a higher limit, or fewer --points"
        )
    new = not path.parent.exists()
    write_file(path, page.content)
    series = f"the series of {page.with_series} of them (--all keeps all)"
    if page.with_series == page.runs:
        series = "its series" if page.runs == 1 else "their series"
    made = f"{path}: {human_size(len(page.content))}, {page.runs} {page.what if page.runs != 1 else page.what[:-1]} with {series}"
    note(f"{made}{', in a new folder' if new else ''}")
