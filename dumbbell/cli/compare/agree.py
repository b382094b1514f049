"""`dumbbell agree SET`: runs a set of scenarios on two engines and measures their agreement."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dumbbell.agreement import outcome, tables
from dumbbell.agreement.comparison import compare
from dumbbell.agreement.precision import Precision
from dumbbell.agreement.real_time import for_machines
from dumbbell.agreement.regression import moved_table, plain, regression, sentence
from dumbbell.agreement.sets import as_yaml, find_set
from dumbbell.agreement.shared import Shared
from dumbbell.agreement.statement import statement
from dumbbell.cli.compare.agree_ends import AgreeCommand
from dumbbell.cli.executor import ClusterOption, ExecutorOption, WorkersOption, make_executor
from dumbbell.cli.hosts import HostsOption
from dumbbell.cli.output import JsonOption, human_time, note, print_json, show
from dumbbell.cli.progress import runs_bar
from dumbbell.cli.tables import print_tables
from dumbbell.engines import engine
from dumbbell.errors import BadInput
from dumbbell.files import creatable
from dumbbell.scenario import Scenario

command_class = AgreeCommand


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="SET",
            help="smoke (a dozen short runs), standard (about 150 scenarios), random, pairs (two congestion controls share a path), "
            "stability (high-speed flows with background traffic, an hour or more per processor), or state (what congestion controls and "
            "queues keep, against inet_diag and the statistics of qdiscs). `dumbbell agree ends --help` has another "
            "comparison: one end of a connection, packet by packet.",
        ),
    ],
    seed: Annotated[
        str | None,
        typer.Option(
            "--seed",
            metavar="A,B",
            help="Seeds of the drawn scenarios, which dumbbell pools, or of the jittered starts. Default: 1.",
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            "--count",
            min=1,
            max=100_000,
            help="Scenarios for each seed. Default: 100 for random, 40 for pairs, 20 for stability, 50 for state.",
        ),
    ] = None,
    engines: Annotated[str, typer.Option("--engines", metavar="A,B", help="Two engines, the reference first.")] = "kernel,sim",
    cc: Annotated[
        str | None,
        typer.Option(
            "--cc",
            metavar="A,B",
            help="Congestion controls to draw from. random then has one bulk flow in each scenario.",
        ),
    ] = None,
    qdiscs: Annotated[
        str | None, typer.Option("--qdisc", metavar="A,B", help="Only these qdiscs. Default: all qdiscs that both engines have.")
    ] = None,
    starts: Annotated[
        int | None,
        typer.Option(
            "--starts",
            min=2,
            max=1000,
            help="Jittered starts of scenarios with several flows or random numbers (with random --cc, of all scenarios). "
            "Default: 10, 3 for smoke, 5 for stability.",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="SHARE",
            help="Add starts to each scenario with several starts. Stop when the standard errors of the reference's mean goodput and mean "
            "srtt are at most this share, such as 0.5%, or at 100 starts. The other engine has four times as many.",
        ),
    ] = None,
    hosts: HostsOption = None,  # noqa: ARG001
    workers: WorkersOption = None,
    executor: ExecutorOption = "threads",
    cluster: ClusterOption = None,
    out: Annotated[Path | None, typer.Option("--out", callback=creatable, help="Results folder. Default: results/agree-SET.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="Only print the scenarios, as files that `dumbbell run` takes.")] = False,
    figures: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw the scenarios that are furthest apart.")] = True,
    check: Annotated[bool, typer.Option("--check", help="Exit status 1 if the agreement misses a target.")] = False,
    json: JsonOption = False,
) -> None:
    """Compare two engines over a set of scenarios. Existing runs in the results folder are not rerun.

    It compares means of each run (goodput, RTTs, queueing delay, drops ...) and shares of flows over several starts. For scenarios with one
    bulk flow and no random numbers it compares the window sample by sample (how many of the first 30 s are within 2 % of the reference's).
    It also compares how pairs of different congestion controls share, and how steadily high-speed flows use a link (utilisation, CoV-PTA).
    For two kernels, such as kernel:6.12,kernel:7.3, it names the scenarios that the second one moves, by Welch's t-test over the starts.
    agree.md in the results folder defines each number. changes.csv, windows.csv, pairs.csv, stability.csv and state.csv have
    them by scenario.
    """
    chosen, where = _two(engines), make_executor(executor, workers, cluster)
    first, second = (engine(each).capabilities() for each in chosen)
    shared = Shared.of(first, second)
    if qdiscs is not None:
        shared = shared.with_qdiscs(_names(qdiscs))
    scenario_set = find_set(name, shared, _seeds(seed), count, starts, None if cc is None else _names(cc))
    if until is not None:
        scenario_set = replace(scenario_set, precision=Precision(_share(until), scenario_set.starts))
    scenario_set, left_out = for_machines(scenario_set, chosen)
    for line in left_out:
        note(line)
    if listed:
        _list(scenario_set.scenarios, json)
        return
    for each in chosen:
        engine(each).require()
    folder = out if out is not None else Path("results") / f"agree-{scenario_set.title}"
    began = time.perf_counter()
    with runs_bar(f"agree {name}") as progress:
        compared = compare(scenario_set, chosen, folder, where, progress)
    wall_s = time.perf_counter() - began
    found = compared.difference()
    document = statement(compared, found)
    # Two kernels are asked what the second does differently, and not only how far they are apart.
    changes = regression(compared) if all(each.partition(":")[0] == "kernel" for each in chosen) else None
    if changes is not None:
        document["changes"] = plain(changes)
    drawn = outcome.write(folder, document, compared, found, figures, changes)
    lacking = tables.below_bar(document)
    if json:
        print_json({**document, "below_bar": lacking, "out": str(folder), "wall_s": wall_s})
    else:
        furthest = [tables.worst_table(document, ranges=False)] if document["worst"] else []
        print_tables([*tables.statement_tables(document), *furthest])
        if changes is not None:
            print_tables([moved_table(changes)] if changes.moved else [])
            note(sentence(changes))
    for run in compared.invalid:
        note(f"invalid, left out: {run.name} ({run.engine['name']}): {'; '.join(run.reasons)}")
    if "in_real_time" in document:
        note(tables.real_time(document))
    for line in lacking:
        note(f"below the target: {line}")
    runs = len(compared.reference) + len(compared.ours) + len(compared.further)
    note(f"{len(scenario_set.scenarios)} scenarios, {runs} runs in {human_time(wall_s)}; {folder / 'agree.md'}")
    if drawn:
        note(f"figures and scenarios of the worst in {folder / 'worst'}")
    if compared.invalid or (check and lacking):
        raise typer.Exit(1)


def _names(written: str) -> list[str]:
    return [name.strip() for name in written.split(",")]


def _seeds(written: str | None) -> list[int]:
    """Seeds are 63 bits wide, as those of scenarios are."""
    names = [] if written is None else _names(written)
    if not all(re.fullmatch("[0-9]{1,19}", name) and int(name) < 1 << 63 for name in names):
        raise BadInput(f"--seed {written!r}: expected whole numbers, such as 1 or 1,2,3")
    return [int(name) for name in names]


def _share(written: str) -> float:
    number = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)%", written.strip())
    if number is None or not 0 < float(number[1]) <= 100:
        raise BadInput(f"--until {written!r}: expected a share of the mean, such as 0.5%")
    return float(number[1]) / 100


def _two(written: str) -> tuple[str, str]:
    names = _names(written)
    names = [engine(name).name for name in names]
    if len(names) != 2 or names[0] == names[1]:
        raise BadInput(f"--engines {written!r}: expected two engines that differ, the reference first, such as kernel,sim")
    return names[0], names[1]


def _list(scenarios: Sequence[Scenario], json: bool) -> None:
    if json:
        print_json([scenario.dump() for scenario in scenarios])
    else:
        show("---\n".join(map(as_yaml, scenarios)), end="")
