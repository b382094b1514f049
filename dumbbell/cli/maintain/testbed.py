"""`dumbbell testbed`: real hosts, and a laboratory of guests that stand in for them."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.cli.hosts import HostsOption
from dumbbell.cli.output import show
from dumbbell.cli.progress import progress_bar
from dumbbell.errors import BadInput

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from dumbbell.engines.testbed.hosts import Hosts

command = typer.Typer(name="testbed", help="Hosts in real time, and a laboratory without hardware.", no_args_is_help=True)
_AS_TYPED = "dumbbell testbed lab -- COMMAND"

LeftOption = Annotated[int, typer.Option("--left", min=1, help="Hosts on the left.")]
RightOption = Annotated[int, typer.Option("--right", min=1, help="Hosts on the right.")]
CommandArgument = Annotated[list[str] | None, typer.Argument(metavar="COMMAND...", help="Command to run, with its arguments.")]


# Words behind COMMAND belong to COMMAND.
@command.command(name="lab", context_settings={"allow_interspersed_args": False})
def _lab(command: CommandArgument = None, left: LeftOption = 1, right: RightOption = 1) -> None:
    """Boot left hosts, a router and right hosts as guests, and run COMMAND among them. The exit status is that of COMMAND.

    COMMAND and its programs reach the guests over ssh. $DUMBBELL_HOSTS names the hosts file. Its folder has a configuration for `ssh -F`.
    When COMMAND has ended nothing is left of the guests.
    """
    from dumbbell.engines.testbed import laboratory

    if not command:
        raise BadInput(f"no command; expected {_AS_TYPED}, such as dumbbell testbed lab -- sh")
    if shutil.which(command[0]) is None:
        raise BadInput(f"{command[0]}: no such program; expected {_AS_TYPED}")
    for side, count in (("left", left), ("right", right)):
        if count > laboratory.MOST_HOSTS:
            raise BadInput(f"--{side}: {count} hosts; expected at most {laboratory.MOST_HOSTS}")
    with ExitStack() as stack:
        with progress_bar("laboratory", "guests") as progress:
            booted = stack.enter_context(laboratory.booted(left, right, progress))
        status = _status(lambda: booted.start(command))
    raise typer.Exit(status)


def _machines() -> Hosts:
    """The machines of the hosts file."""
    from dumbbell.engines.testbed.engine import others, require_ssh

    if (hosts := others()) is None:
        raise BadInput("no machines; expected --hosts FILE (docs/testbed.md), or $DUMBBELL_HOSTS")
    require_ssh()
    return hosts


@command.command(name="check")
def _check(hosts: HostsOption = None) -> None:  # noqa: ARG001
    """List the problems of all machines of a testbed. This command changes nothing."""
    from dumbbell.engines.testbed import fleet
    from dumbbell.engines.testbed.preflight import lines

    found = fleet.preflight(_machines())
    for level in ("error", "warning"):
        for line in lines(found.problems, level):
            show(f"{level}  {line}")
    for name, facts in found.facts.items():
        show(f"ok       {name}: Linux {facts.kernel.release} {facts.kernel.architecture}, {facts.processors.count} processors")
    if lines(found.problems, "error"):
        raise typer.Exit(3)


@command.command(name="recover")
def _recover(hosts: HostsOption = None) -> None:  # noqa: ARG001
    """Undo the changes that an interrupted session left on the machines of a testbed."""
    from dumbbell.engines.testbed import fleet

    for name, count in fleet.recovered(_machines()).items():
        show(f"{name}: {count} changes undone" if count else f"{name}: nothing was left")


def _status(start: Callable[[], subprocess.Popen[bytes]]) -> int:
    """Start COMMAND and wait for it. COMMAND hears of Ctrl-C from the terminal and decides what to do; other signals are passed on."""
    early: list[int] = []  # signals while COMMAND starts: COMMAND may hear Ctrl-C before this process does
    process = None

    def pass_on(number: int, _frame: object) -> None:
        if number == signal.SIGINT and _in_foreground():
            return
        if process is None:
            early.append(number)
        else:
            process.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        process = start()
        for number in early:
            process.send_signal(number)
        return process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    """True if Ctrl-C on the terminal, if there is one, goes to this process and to COMMAND alike."""
    try:
        with open("/dev/tty", "rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False
