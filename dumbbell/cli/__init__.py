"""The command line: one file per subcommand, in a folder for each group of the help."""

from __future__ import annotations

import errno
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from dumbbell import __version__
from dumbbell.cli.output import show
from dumbbell.cli.overview import COMMANDS, GROUPS
from dumbbell.cli.streams import flush_output, output_failed, prepare_streams, say
from dumbbell.errors import (
    BadInput,
    DamagedRunWarning,
    DumbbellError,
    EnvironmentFault,
    Interrupted,
    WorkerWarning,
    nearest,
    printable,
)
from dumbbell.executor.interrupt import terminated_as_interrupted
from dumbbell.files import FULL

_NAME = "dumbbell"


class _Loaded(Mapping[str, Any]):
    """The commands by name. The module of one is imported when it is asked for, so that no command waits for what another needs."""

    def __init__(self) -> None:
        self._found: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        if name not in self._found:
            group = next(group for group, commands in GROUPS.items() if name in commands)
            module = import_module(f"{__name__}.{group.lower()}.{COMMANDS[name].module or name}")
            one = typer.Typer(add_completion=False, rich_markup_mode=None)
            if isinstance(module.command, typer.Typer):
                one.add_typer(module.command)
            else:
                one.command(name=name, cls=getattr(module, "command_class", None))(module.command)
            found = self._found[name] = get_group(one).commands[name]
            found.epilog = f"Example: {COMMANDS[name].example}"
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Commands(TyperGroup):
    """The commands, see `_Loaded`."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = _Loaded()  # type: ignore[assignment]

    def list_commands(self, _ctx: Any) -> list[str]:
        """The names in the order of the help. No module is imported."""
        return list(COMMANDS)

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        """The commands by group. No module is imported."""
        for group, commands in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name, about.summary) for name, about in commands.items()])

    def format_epilog(self, _ctx: Any, formatter: Any) -> None:
        """Write the command to begin with."""
        formatter.write_paragraph()
        formatter.write(f"Begin with `{COMMANDS['run'].example}`.\n")
        formatter.write("`dumbbell COMMAND --help` has an example of each command.\n")


app = typer.Typer(
    name=_NAME,
    cls=_Commands,
    help="TCP congestion-control and queue-management experiments, and whether to believe them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        show(f"dumbbell {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Exit status: 0 good, 1 invalid runs or a failed check, 2 bad input, 3 trouble with the machine, 130 interrupted."""


_THEIR_WORDS = (
    (re.compile("Value error, "), ""),
    (re.compile(r"Input should be greater than or equal to (\S+)"), r"expected at least \1"),
    (re.compile(r"Input should be less than or equal to (\S+)"), r"expected at most \1"),
    (re.compile("Input should be a valid integer.*"), "expected a whole number"),
    (re.compile("Input should be a valid number.*"), "expected a number"),
    (re.compile(r"\. Choose from:\n\t"), "; expected one of "),
    (re.compile(r",\n\t"), ", "),
)
"""The message of pydantic, with which typer checks -> the message that dumbbell prints instead."""
_NOT_AMONG, _QUOTED = re.compile(r"'([^']*)' is not one of (.+)"), re.compile("'([^']*)'")
_NO_OPTION = re.compile(r"No such option: --(\w[\w-]*)")
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""The base class of all errors in the command line, which typer does not export."""


def _warn(left_out: set[str], message: Warning | str, category: type[Warning], *_place: Any, **_others: Any) -> None:
    """Shows a warning in one line, without the source line that issued it. One about a damaged run is shown once, and noted."""
    text = printable(str(message))
    if text not in left_out:
        say(f"{text}\n")
    if issubclass(category, DamagedRunWarning):
        left_out.add(text)


def main() -> None:
    """The console script."""
    prepare_streams()
    left_out: set[str] = set()
    with warnings.catch_warnings(), terminated_as_interrupted():
        for shown in (DamagedRunWarning, WorkerWarning):
            warnings.filterwarnings("always", category=shown)
        warnings.showwarning = partial(_warn, left_out)
        status = _run()
    sys.exit(flush_output() or status or int(bool(left_out)))


def _run() -> int:
    """Runs the command, and reports errors in a line each; the exit status."""
    try:
        status = app(standalone_mode=False, prog_name=_NAME)
        if status == Interrupted.exit_status:  # typer's exception for KeyboardInterrupt
            raise KeyboardInterrupt
        return status if isinstance(status, int) else 0
    except _UsageError as error:
        say(_usage(error))
        return BadInput.exit_status
    except DumbbellError as error:
        say(f"{error}\n")
        return error.exit_status
    except ModuleNotFoundError as error:
        library = (error.name or _NAME).partition(".")[0]
        if library == _NAME:
            raise
        say(f"{library} is not installed, which this needs; expected the libraries of `pip install dumbbell`\n")
        return EnvironmentFault.exit_status
    except KeyboardInterrupt:
        say("interrupted\n")
        return Interrupted.exit_status
    except SystemExit:  # typer's exception for a reader of stdout that has gone away
        return output_failed(BrokenPipeError(errno.EPIPE, ""))
    except OSError as error:
        if error.filename is None:
            return output_failed(error)
        say(f"{printable(str(error.filename))}: {error.strerror}; expected a path that can be used\n")
        return EnvironmentFault.exit_status if error.errno in FULL else BadInput.exit_status


def _usage(error: Any) -> str:
    """The error in one line; the help text itself if no subcommand was given."""
    text: str = error.format_message()
    for theirs, ours in _THEIR_WORDS:
        text = theirs.sub(ours, text)
    options = {option for each in error.ctx.command.params for option in each.opts} if error.ctx else set()
    if found := _NOT_AMONG.search(text):
        hint = f" (did you mean --{found[1]}?)" if f"--{found[1]}" in options else nearest(found[1], _QUOTED.findall(found[2]))
        text = text.rstrip(".") + hint
    if found := _NO_OPTION.match(text):
        text = f"{found[0]}{_option_meant(found[1], options, error.ctx)}"
    if "\n" in text:
        return f"{text}\n"
    return f"{text.rstrip('.')} (see `{error.ctx.command_path if error.ctx else _NAME} --help`)\n"


def _option_meant(name: str, options: set[str], ctx: Any) -> str:
    """A hint at the option that was probably meant: a key of a scenario, or an option of the command or of the test that it is given."""
    if "--set" in options:
        from dumbbell.scenario import Scenario

        if name in Scenario.model_fields:
            return f" (did you mean --set {name}=VALUE?)"
    own = getattr(ctx.command, "own_options", ()) if ctx else ()
    names = [each.removeprefix("--") for each in (*own, *sorted(options)) if each.startswith("--")]
    return _QUOTED.sub(r"--\1", nearest(name, names))
