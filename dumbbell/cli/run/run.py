"""`dumbbell run FILE`: runs a scenario."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from dumbbell.cli.executor import ClusterOption, ExecutorOption, WorkersOption, make_executor
from dumbbell.cli.hosts import HostsOption
from dumbbell.cli.output import JsonOption, human_time, note, print_json, show
from dumbbell.cli.progress import runs_bar
from dumbbell.cli.run.repeats import repeats_json, show_repeats
from dumbbell.cli.run.run_rows import RunRows
from dumbbell.cli.run.template_command import TemplateCommand
from dumbbell.cli.scenario_runs import (
    AllowLibraryOption,
    AllowModuleOption,
    AllowProgramOption,
    FileArgument,
    MostCellsOption,
    OutOption,
    SetOption,
    read_scenario,
)
from dumbbell.collector import collector_paused
from dumbbell.comparing.across.advice import is_of_queue
from dumbbell.comparing.across.answer import Answer
from dumbbell.engines import engine as find_engine
from dumbbell.engines.prepared import Allowed
from dumbbell.errors import BadInput, DamagedRun
from dumbbell.executor import Executor
from dumbbell.results import Run, Store, leave_out, limit_notes
from dumbbell.running.execute import Outcome, execute_each
from dumbbell.running.sweep import PreparedSweep, Requested
from dumbbell.running.until.rounds import Repeated
from dumbbell.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

command_class = TemplateCommand


def command(
    file: FileArgument,
    values: SetOption = None,
    engine: Annotated[
        str | None, typer.Option("--engine", metavar="NAME", help="Engine of all runs, such as sim, kernel or kernel:7.3.")
    ] = None,
    engines: Annotated[
        str | None,
        typer.Option("--engines", metavar="A,B", help="Several engines: each cell runs on each of them, and the summary compares them."),
    ] = None,
    out: OutOption = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = "threads",
    cluster: ClusterOption = None,
    most_cells: MostCellsOption = None,
    hosts: HostsOption = None,  # noqa: ARG001
    allow_library: AllowLibraryOption = False,
    allow_program: AllowProgramOption = False,
    allow_module: AllowModuleOption = False,
    rows: Annotated[bool, typer.Option("--rows", help="Print a row for each flow, group and stream of each run, not the summary.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no summary.")] = False,
    again: Annotated[
        str | None,
        typer.Option(
            "--again", metavar="KEY", help="With a results folder: compute a stored run again, by its key or as seed=1, with more to see."
        ),
    ] = None,
    series: Annotated[
        list[str] | None,
        typer.Option("--series", help="With --again: control, queue or state variables of `dumbbell list state`. Repeatable."),
    ] = None,
    events: Annotated[
        list[str] | None, typer.Option("--events", help="With --again: all, or acks, losses, marks, state. Repeatable.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run a scenario and print what differs.

    The summary has a row for each cell of the sweep: means over the runs with 95 % intervals. Existing runs in the results folder are not
    rerun. With --again KEY, and a results folder for FILE, dumbbell recomputes a stored run, with more to see.
    """
    if again is not None:
        from dumbbell.cli.run.again import again as run_again

        run_again(file, again, series or (), events or (), Allowed(allow_library, allow_program, allow_module), json)
        return
    if series or events:
        option = "--series" if series else "--events"
        raise BadInput(f"{option} was given without --again; expected --again KEY, or series and events in the scenario")
    if quiet + rows + json > 1:
        given = [name for name, there in (("--quiet", quiet), ("--rows", rows), ("--json", json)) if there]
        raise BadInput(f"{' and '.join(given)} were given together; expected one of them")
    where = make_executor(executor, workers, cluster)
    scenario, folder = read_scenario(file, out, most_cells, [*(values or ()), *_engines(engine, engines)])
    store = Store(folder)
    began = time.perf_counter()
    done = _computed(scenario, store, where, most_cells, Allowed(allow_library, allow_program, allow_module))
    jobs, outcome, ran = done.jobs, done.outcome, done.outcome.ran
    wall_s = time.perf_counter() - began

    count = dict.fromkeys(("ok", "warn", "invalid"), 0)
    listed: list[dict[str, Any]] = []
    listed_rows = RunRows(list(jobs.asked(0)[1])) if rows else None
    answer = Answer(scenario.name)
    limits: list[str] = []
    with collector_paused():
        for run in outcome:
            count[run.status] += 1
            for reason in run.reasons[:_MOST_REASONS]:
                note(f"{run.status}: {_cell(run.cell) or run.name}: {reason}")
            if len(run.reasons) > _MOST_REASONS:
                note(f"{run.status}: {_cell(run.cell) or run.name}: and {len(run.reasons) - _MOST_REASONS} more reasons, in its run.json")
            found = list(limit_notes(run))
            limits += [f"{_cell(run.cell) or run.name}: {line}" for line in found]
            if json:
                facts = {"key": run.key, "cell": dict(run.cell), "status": run.status, "reasons": list(run.reasons), "digest": run.digest}
                listed.append({**facts, "limits": found})
            elif len(jobs) > _MOST_SHOWN or quiet:
                continue
            elif listed_rows is not None:
                listed_rows.add(run)
            else:
                _add(answer, run)
    kept = sum(count.values()) - ran
    if json:
        summary = {"name": scenario.name, "out": str(store.path), "ran": ran, "kept": kept, "wall_s": wall_s}
        until = {} if done.repeated is None else {"until": repeats_json(scenario, done.repeated)}
        print_json({**summary, **count, "damaged": list(outcome.damaged), **until, "runs": listed})
    elif not quiet:
        if listed_rows is not None:
            listed_rows.show()
        elif answer.cells:
            _show(answer)
        if done.repeated is not None:
            show_repeats(scenario, done.repeated)
    for line in limits[:_MOST_LIMITS]:
        note(f"note: {line}")
    if len(limits) > _MOST_LIMITS:
        note(f"note: {len(limits) - _MOST_LIMITS} more flows limited by a buffer; `dumbbell table` has the shares")
    if not json:
        reused = f", {kept} reused" if kept else ""
        damaged = f", {len(outcome.damaged)} damaged left out" if outcome.damaged else ""
        note(f"{ran} of {len(jobs)} runs in {human_time(wall_s)}{reused}{damaged}; results in {store.path}")
    if not json and not quiet:
        note(f"next: {_next(answer, store.path, len(jobs))}")
    if count["invalid"]:
        raise typer.Exit(1)


def _engines(one: str | None, several: str | None) -> list[str]:
    """The settings that the options about engines stand for. Raises `BadInput`."""
    if one is not None and several is not None:
        raise BadInput("--engine and --engines were given together; expected one of them")
    if several is None:
        return [] if one is None else [f"engine={one}"]
    names = list(dict.fromkeys(find_engine(name.strip()).name for name in several.split(",")))
    if len(names) < 2:
        raise BadInput(f"--engines {several!r}: expected two engines that differ, or more, such as kernel,kernel:7.3")
    listed = ", ".join(f'"{name}"' for name in names)
    return [f"sweep.grid.engine=[{listed}]"]


def _add(answer: Answer, run: Run) -> None:
    """Add a run to the summary, unless its samples are damaged."""
    try:
        answer.add(run)
    except DamagedRun as damage:
        leave_out(damage)


def _show(answer: Answer) -> None:
    """Print the row of each cell, and the sentence."""
    from dumbbell.cli.tables import print_fitted, print_wrapped

    try:
        table, sentence = answer.table(), answer.sentence
    except ModuleNotFoundError as missing:
        note(f"{missing.name} is not installed: no summary has intervals; `dumbbell table` shows the runs")
        return
    print_fitted(table)
    if sentence is not None:
        show("")
        print_wrapped(sentence)


def _next(answer: Answer, folder: Path, runs: int) -> str:
    """The command to type next, with what it does."""
    where = shlex.quote(str(folder))
    if runs > _MOST_SHOWN:
        return f"`dumbbell table {where} --statistic mean` for the {runs} runs, or `dumbbell view {where}`"
    if answer.runs > 1 and any(map(is_of_queue, answer.varied)):
        return f"`dumbbell advise {where}` for the best queue, or `dumbbell view {where}` for the browser"
    return f"`dumbbell plot {where}` for figures, or `dumbbell view {where}` for the browser"


class _Done(NamedTuple):
    jobs: Requested
    outcome: Outcome
    repeated: Repeated | None
    """Runs of a scenario with `until`."""


def _computed(scenario: Scenario, store: Store, where: Executor, most_runs: int | None, allowed: Allowed) -> _Done:
    """Compute the runs of a scenario that are missing, and return all."""
    if scenario.until is not None:
        from dumbbell.running.until.rounds import repeat_until

        with runs_bar(scenario.name) as progress:
            found = repeat_until(scenario, store, where, progress, allowed, most_runs)
        return _Done(found.jobs, found.outcome, found)
    jobs = PreparedSweep(scenario, most_runs)
    with runs_bar(scenario.name) as progress:
        outcome = execute_each(jobs, store, where, progress, allowed=allowed)
    return _Done(jobs, outcome, None)


_MOST_SHOWN = 1000
"""Runs of a scenario that a summary is made of."""
_MOST_REASONS = 3
"""Reasons for the status of a run that are printed."""
_MOST_LIMITS = 10
"""Flows of which it is said that a buffer limits them."""


def _cell(cell: Mapping[str, object]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in cell.items())
