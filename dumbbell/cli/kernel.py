"""`dumbbell kernel`: the kernel that the engine of that name boots."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dumbbell.cli.output import JsonOption, human_time, note, print_columns, print_json
from dumbbell.cli.progress import progress_bar
from dumbbell.executor import default_workers

if TYPE_CHECKING:
    from dumbbell.engines.kernel.binary import Binary

command = typer.Typer(name="kernel", help="Build the kernel that the engine `kernel` boots.", no_args_is_help=True)

SourceOption = Annotated[Path | None, typer.Option("--source", help="Tarball of Linux 6.12.x; by default the distribution's.")]
JobsOption = Annotated[int | None, typer.Option("--jobs", min=1, help="Compilers at a time; all processors by default.")]


@command.command(name="build")
def _build(source: SourceOption = None, jobs: JobsOption = None, json: JsonOption = False) -> None:
    """Build the kernel into the cache, unless it is there, and boot it once."""
    from dumbbell.engines.kernel import binary, build

    # Half a gigabyte is removed however a build is stopped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began = time.monotonic()
    # Without a terminal the names of the stages are enough.
    with progress_bar("kernel build", "files") as progress:
        made = build.build(source, jobs or default_workers(), note, progress)
    if made:
        note(f"built in {human_time(time.monotonic() - began)}")
    _show(_facts(binary.find()) | {"built": made}, json)


@command.command(name="status")
def _status(json: JsonOption = False) -> None:
    """Show which kernel the engine boots. Exit status 3 if there is none or it does not boot."""
    from dumbbell.engines.kernel import binary

    _show(_facts(binary.find()), json)


def _facts(found: Binary) -> dict[str, Any]:
    """Raises `EnvironmentFault` if it does not boot."""
    from dumbbell.engines.kernel.guest import boot_time

    facts = {"path": str(found.linux), "version": found.version, "key": found.key, "configuration": found.config_hash}
    return facts | {"agent": found.agent_hash, "boot_s": round(boot_time(found), 3)}


def _show(facts: dict[str, Any], json: bool) -> None:
    if json:
        print_json(facts)
    else:
        print_columns([(name, value) for name, value in facts.items() if name != "built"])
