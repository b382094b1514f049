"""`dumbbell completion SHELL`: the script that makes a shell complete commands, options and values."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from dumbbell import completion
from dumbbell.cli.output import show

Shell = StrEnum("Shell", {name.upper(): name for name in completion.SHELLS})  # type: ignore[misc]
"""Shells that dumbbell completes in."""


def command(shell: Annotated[Shell, typer.Argument(help="The shell.")]) -> None:
    """Print the script that makes a shell complete commands, options and values: `source <(dumbbell completion bash)`.

    Put this line into the file that the shell reads when it starts, ~/.bashrc or ~/.zshrc. For fish, write the script to
    ~/.config/fish/completions/dumbbell.fish.
    """
    show(completion.script(str(shell)), end="")
