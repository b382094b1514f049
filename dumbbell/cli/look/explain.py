"""`dumbbell explain DIR --at 12.3s`: what happened to flows around a moment, in order."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.output import JsonOption, note, print_columns, print_json
from dumbbell.cli.run.again import only_run
from dumbbell.comparing.story import lines, story
from dumbbell.errors import BadInput, nearest, one_of
from dumbbell.results import Store
from dumbbell.results.folder import find_store
from dumbbell.results.windowed import moment_of
from dumbbell.study.folders import find_folder

_AROUND_S = 0.5


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results folder.")],
    at: Annotated[str, typer.Option("--at", metavar="TIME", help="The moment, such as 12.3s.")],
    run: Annotated[
        str | None, typer.Option("--run", metavar="KEY", help="The run, by the first characters of its key or as seed=1.")
    ] = None,
    flow: Annotated[list[str] | None, typer.Option("--flow", help="Only this flow. Repeatable.")] = None,
    around: Annotated[str, typer.Option("--around", metavar="TIME", help="Time to show before and after the moment.")] = f"{_AROUND_S}s",
    each: Annotated[
        bool,
        typer.Option("--each", help="Print each event. Default: ACKs, drops and repairs between two changes of state share a line."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Tell in order what happened to flows around a moment: ACKs, losses, drops, marks, changes of state.

    The run needs a record of events: set `events: all` in the scenario, or use `dumbbell run DIR --again KEY --events all`.
    """
    moment_s = moment_of(at, "--at")
    around_s = moment_of(around, "--around")
    store = Store(find_store(find_folder(folder)))
    found = only_run(store, run)
    events = found.events
    if found.record is None:
        how = f"`dumbbell run {store.path} --again {found.key[:10]} --events all` makes one"
        raise BadInput(f"run {found.key[:10]} ({found.name}) has no record of events; expected one ({how})")
    known = found.flows.names
    for name in flow or ():
        if name not in known:
            raise BadInput(f"--flow {name!r} is unknown{nearest(name, known)}; expected {one_of(known)}")
    told = story(events, moment_s - around_s, moment_s + around_s, flow or (), each)
    if json:
        print_json([each.plain() for each in told])
    elif told:
        print_columns(lines(told, several=len({each.flow for each in told}) > 1))
    if not told:
        first, last = (events["t_ns"].min(), events["t_ns"].max()) if len(events) else (None, None)
        span = "the record is empty" if first is None else f"the record is from {first / 1e9:g} s to {last / 1e9:g} s"  # type: ignore[operator]
        note(f"nothing happened from {max(moment_s - around_s, 0):g} s to {moment_s + around_s:g} s; {span}")
