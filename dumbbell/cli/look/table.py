"""`dumbbell table DIR`: results as tables."""

from __future__ import annotations

from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.cli.figure_options import no_redirect
from dumbbell.cli.measuring import FromTimeOption, UntilOption, headed
from dumbbell.cli.output import JsonOption, note, print_json, show
from dumbbell.comparing.across.coordinates import RunSet
from dumbbell.comparing.across.estimates import STATISTICS
from dumbbell.comparing.across.questions import check_statistic
from dumbbell.comparing.across.tables import repeats_table
from dumbbell.comparing.summary import datagram_table, group_table, run_table, summary_table, summary_tidy, tin_table
from dumbbell.comparing.tables import Table
from dumbbell.errors import BadInput
from dumbbell.results.folder import Folder, open_folder, open_outlines, run_of
from dumbbell.results.windowed import Window, window_of
from dumbbell.study.folders import find_folder, part_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_MORE_ROWS = {"--flows": "flow", "--ports": "port", "--classes": "class"}
"""Options of rows that only tables over seeds have."""


class Form(StrEnum):
    """Forms of a table."""

    TEXT = "text"
    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results folder, or a study.")],
    tidy: Annotated[
        bool, typer.Option("--tidy", help="CSV with one row per cell and metric, in the columns of the published data.")
    ] = False,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind", help="With --tidy: name of the published data, e.g. sce_jain. Default: the first data of the study that have runs."
        ),
    ] = None,
    by_run: Annotated[bool, typer.Option("--runs", help="One row per run, with its flows combined.")] = False,
    by_group: Annotated[
        bool, typer.Option("--groups", help="One row per group of connections that come and go, or carry requests and responses.")
    ] = False,
    by_stream: Annotated[bool, typer.Option("--datagrams", help="One row per ping, voice call or other stream that measures.")] = False,
    by_tin: Annotated[bool, typer.Option("--tins", help="One row per tin of cake.")] = False,
    by_flow: Annotated[bool, typer.Option("--flows", help="With --statistic: one row per flow.")] = False,
    by_port: Annotated[
        bool, typer.Option("--ports", help="One row per queue: utilisation, delays, losses and marks. Means over seeds, or --statistic.")
    ] = False,
    by_class: Annotated[
        bool, typer.Option("--classes", help="One row per tin of cake or queue of dualpi2. Means over seeds, or --statistic.")
    ] = False,
    statistic: Annotated[
        str | None,
        typer.Option(
            "--statistic",
            help="Over seeds: mean or median with the 95 % interval, or spread (5th to 95th percentile). One row per group and "
            "direction, or per run, flow, group or stream with --runs, --flows, --groups or --datagrams.",
        ),
    ] = None,
    y: Annotated[
        list[str] | None, typer.Option("--y", help="With --statistic: only this column, with or without its unit. Repeatable.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="KEY=VALUE", callback=no_redirect, help="With --statistic: only these runs or flows. Repeatable."),
    ] = None,
    over: Annotated[
        list[str] | None, typer.Option("--over", help="With --statistic: a key of the sweep whose values dumbbell pools. Repeatable.")
    ] = None,
    from_: FromTimeOption = None,
    until: UntilOption = None,
    number: Annotated[int | None, typer.Option("--number", help="A table of the publication, in its layout.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every column, with six digits.")] = False,
    form: Annotated[Form, typer.Option("--format", help="Format of the table.")] = Form.TEXT,
    json: JsonOption = False,
) -> None:
    """Show results as a table.

    A row is a flow, a group or a run, over all seeds or for each seed. For a study, --number shows a table of the publication.

    Without an option, text has the groups and the streams of datagrams below the flows.
    """
    options = (
        ("--tidy", tidy),
        ("--runs", by_run),
        ("--groups", by_group),
        ("--datagrams", by_stream),
        ("--tins", by_tin),
        ("--flows", by_flow),
        ("--ports", by_port),
        ("--classes", by_class),
        ("--number", number is not None),
    )
    asked = [name for name, given in options if given]
    if len(asked) > 1:
        raise BadInput(f"{' and '.join(asked)} were given together; expected one of them")
    if kind is not None and not tidy:
        raise BadInput("--kind was given without --tidy; expected both")
    if json and (tidy or form is not Form.TEXT):
        raise BadInput(f"--json and {'--tidy' if tidy else '--format'} were both given; expected one of them")
    if tidy:
        if from_ is not None or until is not None:
            raise BadInput(f"{'--from' if from_ is not None else '--until'} was given with --tidy; expected it without")
        show(_tidy(open_folder(find_folder(folder)), kind), end="")
        return
    wanted = next((name for name, given in options[1:-1] if given), None)
    window = window_of(from_, until)
    if not window.is_whole and (tidy or by_tin or number is not None):
        raise BadInput(f"{'--from' if from_ is not None else '--until'} was given with {asked[0]}; expected it without")
    if by_port or by_class:
        statistic = statistic or "mean"
    if by_flow and statistic is None:
        raise BadInput("--flows was given without --statistic; expected --statistic mean, median or spread with it, or neither of them")
    if statistic is None and (y or where or over):
        given = "--y" if y else "--where" if where else "--over"
        raise BadInput(f"{given} was given without --statistic; expected --statistic mean, median or spread with it")
    if statistic is not None:
        if by_tin or number is not None:
            raise BadInput(f"{asked[0]} and --statistic were given together; expected one of them")
        tables = [_over_repeats(folder, wanted, statistic, (y or (), where or (), over or ()), form is Form.CSV or json, window)]
    elif by_tin:
        tables = [_tins(open_folder(find_folder(folder)))]
    else:
        tables = _summaries(folder, wanted, window) if number is None else [_numbered(open_folder(find_folder(folder)), number)]
    table = tables[0]
    if json:
        print_json({"title": table.title, "rows": table.records()})
    elif form is Form.TEXT:
        from dumbbell.cli.tables import print_tables, print_trimmed

        (print_tables if everything or number is not None else print_trimmed)(tables)
    else:
        show({Form.CSV: table.csv, Form.MARKDOWN: table.markdown, Form.LATEX: table.latex}[form](), end="")


def _tidy(opened: Folder, kind: str | None) -> str:
    part = part_of(opened)
    formats = {} if part is None else {format_.name: format_ for format_ in part.formats}
    if kind is not None and kind not in formats:
        raise BadInput(f"--kind {kind!r} is unknown here; expected {', '.join(formats) or 'none, the runs are of no study'}")
    if part is None:
        return summary_tidy(opened.runs)
    from dumbbell.study.reproduction import tidy

    with_runs = (format_ for format_ in formats.values() if format_.measure(opened.runs))
    return tidy(opened.runs, formats[kind] if kind else next(with_runs, part.formats[0]))


def _summaries(folder: Path, wanted: str | None, window: Window) -> list[Table]:
    """The table of an option; without one those of flows, of groups and of streams of datagrams, as far as there are any."""
    path = find_folder(folder)
    runs = open_outlines(path, window)
    title = headed(path, runs, window)
    for status in ("warn", "invalid"):
        if count := sum(run.summary.status == status for run in runs):
            note(f"{count} of {len(runs)} runs {'has' if count == 1 else 'have'} the status {status}; the reasons are in their run.json")
    tables = {"--runs": run_table, "--groups": group_table, "--datagrams": datagram_table}
    if wanted is not None:
        made = tables[wanted](runs, title)
        if runs and not made.rows:
            note(f"{path}: the runs have nothing for {wanted}; `dumbbell table {path}` shows what they have")
        return [made]
    all_made = [make(runs, title) for make in (summary_table, group_table, datagram_table)]
    there = [table for table in all_made if table.rows]
    if runs and not there:
        note(f"{path}: the runs have no flows; `dumbbell plot` and `dumbbell view` draw the series of their queues")
    return there or all_made[:1]


def _over_repeats(
    folder: Path, wanted: str | None, statistic: str, asked: tuple[Sequence[str], Sequence[str], Sequence[str]], apart: bool, window: Window
) -> Table:
    """A row a cell; `asked`: columns, conditions and keys that are taken together."""
    check_statistic(statistic)
    path = find_folder(folder)
    runs = open_outlines(path, window)
    title = f"{headed(path, runs, window)}: {STATISTICS[statistic]}"
    per = {"--runs": "run", "--groups": "group", "--datagrams": "stream", **_MORE_ROWS}.get(wanted or "")
    y, where, over = asked
    return repeats_table([RunSet(path.name, runs, run_of(path), window=window)], title, per, statistic, y, where, over, apart)


def _tins(opened: Folder) -> Table:
    if not any(len(run.tins) for run in opened.runs):
        note(f"{opened.path}: no queue of these runs is a cake with tins; `dumbbell table {opened.path}` shows what they have")
    return tin_table(list(opened.runs), str(opened.path))


def _numbered(opened: Folder, number: int) -> Table:
    part = part_of(opened)
    tables = {} if part is None else part.tables(opened.runs)
    if number not in tables:
        known = f"one of {_ranges(tables)}" if tables else "none, the runs are of no study with numbered tables"
        raise BadInput(f"--number {number}: no such table; expected {known}")
    return tables[number]


def _ranges(numbers: Iterable[int]) -> str:
    """`1 to 4, 12`."""
    runs = groupby(enumerate(sorted(numbers)), key=lambda item: item[1] - item[0])
    ends = [(group[0][1], group[-1][1]) for group in (list(items) for _, items in runs)]
    return ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in ends)
