"""Measures everything, and keeps it for the documents in measured.json.

    python -m benchmarks.measured [--draft] [--kernel] [--rounds N]

The whole draft takes minutes, and the engine `kernel` has to be built: without `--draft` and `--kernel` their recorded values stay. For all
else the best of several rounds is kept.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import memory
from benchmarks.arguments import end_with
from benchmarks.example import rustc_version
from dumbbell import __version__
from dumbbell.bench.cases import CASES, DRAFT, GUESTS, USUAL
from dumbbell.bench.measure import best_of_rounds, measure
from dumbbell.bench.present import lines
from dumbbell.comparing.tables import Table
from dumbbell.errors import BadInput
from dumbbell.files import write_text

FILE = Path(__file__).with_name("measured.json")
"""`dumbbell`, `rustc`, `processors`, and `rows` as `dumbbell bench --json` has them, each with its `date`."""


_ROUNDS = 5


def read(path: Path = FILE) -> dict[str, Any]:
    """Return the record."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def table(recorded: Mapping[str, Any]) -> Table:
    """For the documents."""
    titled = {**CASES, **GUESTS}
    rows = [
        [f"{titled[name].title} (`{name}`)" if name in titled else f"`{name}`", *rest]
        for row in recorded["rows"]
        for name, *rest in lines(row)
    ]
    return Table("", ["benchmark", "measured", "value", "target", ""], rows)


def conditions(recorded: Mapping[str, Any]) -> str:
    """Versions, date and machine, in a line."""
    dates = ", ".join(sorted({row["date"] for row in recorded["rows"]}))
    return f"{dates}: dumbbell {recorded['dumbbell']}, rustc {recorded['rustc']}, {recorded['processors']} processors."


def main(arguments: list[str] | None = None, path: Path = FILE) -> None:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description="Measure everything and record it for the documents.")
    parser.add_argument("--draft", action="store_true", help="also the whole draft, which takes minutes")
    parser.add_argument("--kernel", action="store_true", help="also the engine kernel, which must be built")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, metavar="N", help="best of so many rounds (default %(default)s)")
    asked = parser.parse_args(arguments)
    if asked.rounds < 1:
        raise BadInput(f"--rounds: {asked.rounds}; expected at least 1")
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    before = read(path)["rows"] if path.exists() else []
    rows = [row | {"date": today} for row in best_of_rounds(USUAL, asked.rounds)]
    for names, measured in ((GUESTS, asked.kernel), ([DRAFT], asked.draft)):
        rows += [measure(name) | {"date": today} for name in names] if measured else [row for row in before if row["name"] in names]
    rows.append(memory.measure() | {"date": today})
    machine = {"dumbbell": __version__, "rustc": rustc_version(), "processors": os.cpu_count()}
    write_text(path, json.dumps(machine | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    end_with(main)
