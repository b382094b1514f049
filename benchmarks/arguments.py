"""The command line that the benchmarks share: which of them, and whether to record."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence

from dumbbell.errors import BadInput


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
