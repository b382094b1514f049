"""Options that the benchmarks' command lines share: which benchmarks to run, whether to record, and how they end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NoReturn

from dumbbell.errors import BadInput, DumbbellError


def parse(arguments: Sequence[str] | None, description: str, kind: str, known: Collection[str], record_help: str) -> argparse.Namespace:
    """`names`, a list (empty: all), and `record`, a flag that `record_help` explains. Raises `BadInput` for a name that is not `known`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"of {', '.join(known)}; all by default")
    parser.add_argument("--record", action="store_true", help=record_help)
    asked = parser.parse_args(arguments)
    for name in asked.names:
        if name not in known:
            raise BadInput(f"unknown {kind} {name!r}; expected one of {', '.join(known)}")
    return asked


def end_with(main: Callable[[], int | None]) -> NoReturn:
    """Ends the process as `main` does; what is wrong is printed in a line."""
    try:
        sys.exit(main())
    except DumbbellError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_status)


def show(lines: Iterable[Sequence[str]]) -> None:
    """Prints the lines of a report."""
    for line in lines:
        print("  ".join(line).rstrip())
