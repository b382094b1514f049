"""`dumbbell regress SET`: tell whether a kernel does the same as another one."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Annotated

import typer

from dumbbell.agreement import regression
from dumbbell.agreement.comparison import compare
from dumbbell.agreement.sets import STARTS as SETS
from dumbbell.agreement.sets import ScenarioSet, find_set
from dumbbell.agreement.shared import Shared
from dumbbell.cli.executor import ExecutorOption, WorkersOption, make_executor
from dumbbell.cli.maintain.kernel import ConfigOption, PatchOption, SeriesOption, SourceOption, TreeOption
from dumbbell.cli.output import JsonOption, human_time, note, print_json
from dumbbell.cli.progress import progress_bar, runs_bar
from dumbbell.cli.tables import print_tables
from dumbbell.engines import engine
from dumbbell.errors import BadInput, DumbbellError, EnvironmentFault
from dumbbell.executor import Executor, default_workers
from dumbbell.files import creatable

SetArgument = Annotated[str, typer.Argument(metavar="SET", help=f"{regression.SET}, or a set of `dumbbell agree`.")]
_SKIP = 125
"""Exit status by which `git bisect run` skips a commit."""
_NO_VERDICT = 128
"""Exit status by which `git bisect run` stops."""


def command(
    name: SetArgument,
    baseline: Annotated[str, typer.Option("--baseline", metavar="NAME", help="The kernel to compare with: a series or a name.")],
    kernel: Annotated[str | None, typer.Option("--kernel", metavar="NAME", help="A built kernel, in place of --tree or --patch.")] = None,
    tree: TreeOption = None,
    patch: PatchOption = None,
    config: ConfigOption = None,
    series: SeriesOption = None,
    source: SourceOption = None,
    build_name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the kernel that is built.")] = "regress",
    starts: Annotated[int, typer.Option("--starts", min=2, max=1000, help="Jittered starts of each workload.")] = regression.STARTS,
    workers: WorkersOption = None,
    executor: ExecutorOption = "threads",
    out: Annotated[Path | None, typer.Option("--out", callback=creatable, help="Results folder. Default: results/regress-SET.")] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Compilers at a time. Default: all processors.")] = None,
    json: JsonOption = False,
) -> None:
    """Build a kernel and compare it with another one over a set of workloads.

    Exit status 0: alike. 1: a workload moved, by more than its limit and by more than chance. 125: the kernel cannot be built or does not
    boot, so that `git bisect run dumbbell regress tcp --baseline 7.3 --tree . --out DIR` skips the commit. 128: no verdict, because
    something else failed, such as a missing baseline or a full disk. git then stops the bisection.
    """
    if (kernel is None) == (tree is None and not patch and not config):
        raise BadInput("expected --tree DIR, --patch FILE or --config KEY=VALUE, or --kernel NAME for one that is built")
    folder = out if out is not None else Path("results") / f"regress-{name}"
    if tree is not None and folder.resolve().is_relative_to(tree.resolve()):
        raise BadInput(f"--out {folder}: lies in the tree, whose files are part of the kernel; expected another folder")
    try:
        engine(f"kernel:{baseline}").require()
        if kernel is None:
            _build(tree, patch, config, series, source, build_name, jobs)
        alike = _compared(name, (baseline, kernel or build_name), kernel, starts, make_executor(executor, workers), folder, json)
    except (BadInput, typer.Exit):
        raise
    except Exception as fault:  # whatever it is: 1 to 127 would tell git that the commit is bad
        note(f"no verdict: {fault}")
        raise typer.Exit(_NO_VERDICT) from fault
    if not alike:
        raise typer.Exit(1)


def _compared(name: str, kernels: tuple[str, str], kernel: str | None, starts: int, where: Executor, folder: Path, json: bool) -> bool:
    """Compare two kernels and print the result. Return True if they are alike."""
    engines = (engine(f"kernel:{kernels[0]}").name, engine(f"kernel:{kernels[1]}").name)
    if engines[0] == engines[1]:
        raise BadInput(f"--kernel {kernel}: is the baseline; expected another kernel")
    try:
        engine(engines[1]).require()
    except EnvironmentFault as fault:
        note(str(fault))
        raise typer.Exit(_SKIP) from None
    chosen = _set(name, engines, starts)
    began = time.perf_counter()
    with runs_bar(f"regress {name}") as progress:
        compared = compare(chosen, engines, folder, where, progress)
    found = regression.regression(compared)
    document = regression.write(folder, compared, found)
    if json:
        print_json({**document, "out": str(folder)})
    elif found.moved:
        print_tables([regression.moved_table(found)])
    note(f"{regression.sentence(found)}; {human_time(time.perf_counter() - began)}, {folder / 'regress.md'}")
    return found.alike


def _build(
    tree: Path | None,
    patch: list[Path] | None,
    config: list[str] | None,
    series: str | None,
    source: Path | None,
    name: str,
    jobs: int | None,
) -> None:
    """Build the kernel, or end with the status that skips a commit."""
    from dumbbell.engines.kernel import build

    request = build.Request(series, source, tree, tuple(patch or ()), tuple(config or ()), name)
    request.check()
    try:
        with progress_bar("kernel build", "files") as progress:
            build.build(request, jobs or default_workers(), note, progress)
    except (DumbbellError, OSError, subprocess.SubprocessError, ValueError) as fault:
        note(str(fault))
        raise typer.Exit(_SKIP) from None


def _set(name: str, engines: tuple[str, str], starts: int) -> ScenarioSet:
    if name == regression.SET:
        return regression.workloads(starts)
    if name not in SETS:
        raise BadInput(f"set {name!r} is unknown; expected one of {', '.join((regression.SET, *SETS))}")
    shared = Shared.of(*(engine(each).capabilities() for each in engines))
    return regression.with_starts(find_set(name, shared), starts)
