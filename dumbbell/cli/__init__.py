"""The command line: one file per subcommand."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dumbbell import __version__
from dumbbell.cli import agree, analyze, bench, claims, compare, doctor, kernel, plan, plot, reproduce, run, table
from dumbbell.cli import list as list_
from dumbbell.errors import DumbbellError, Interrupted

app = typer.Typer(
    name="dumbbell",
    help="TCP congestion-control and queue-management experiments, and whether to believe them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dumbbell {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Exit status: 0 good, 1 invalid runs or a failed check, 2 bad input, 3 trouble with the machine, 130 interrupted."""


for command in (run, reproduce, compare, agree, claims, table, plot, list_, plan, doctor, kernel, bench, analyze):
    command.register(app)


def main() -> None:
    """The console script."""
    try:
        app()
    except DumbbellError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(Interrupted.exit_status)
