"""The option `--hosts`, of commands whose runs may be on a testbed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from dumbbell.errors import BadInput


def _use(path: Path | None) -> Path | None:
    """Engines find it where they find the one that the environment names."""
    if path is not None:
        from dumbbell.engines.testbed.hosts import VARIABLE

        if not path.is_file():
            raise BadInput(f"--hosts: {path}: no such file; expected a hosts file (docs/testbed.md)")
        os.environ[VARIABLE] = str(path)
    return path


HostsOption = Annotated[
    Path | None,
    typer.Option(
        "--hosts", metavar="FILE", callback=_use, help="Hosts file of the engine testbed. Default: $DUMBBELL_HOSTS, or this machine."
    ),
]
