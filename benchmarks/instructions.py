"""Counts instructions per delivered data packet under callgrind and compares them with those recorded in instructions.csv.

    python -m benchmarks.instructions [--record] [NAME...]

Exit status 1 if one has grown by more than 5 %. A count does not depend on what else the machine does; it does depend on the compiler,
which rust-toolchain.toml pins. Without valgrind it says so and succeeds.
"""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.arguments import end_with, parse
from benchmarks.example import build, rustc_version
from dumbbell.bench import recorded
from dumbbell.bench.cases import CASES
from dumbbell.bench.measure import network
from dumbbell.bench.recorded import Recorded
from dumbbell.errors import EnvironmentFault

_COLLECTED = re.compile(r"Collected : (\d+)")
_DELIVERED = re.compile(r"^(\d+) packets, ", re.MULTILINE)


def valgrind_version() -> str | None:
    """E.g. `3.19.0`; None where valgrind is missing."""
    try:
        done = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip().removeprefix("valgrind-")


def count(program: Path, description: str) -> float:
    """Instructions per packet of a run, the program's start and the reading of the description included."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program)]
    done = subprocess.run(command, input=description, capture_output=True, text=True, check=False)
    collected, delivered = _COLLECTED.search(done.stderr), _DELIVERED.search(done.stderr)
    if done.returncode or not collected or not delivered:
        raise EnvironmentFault(f"valgrind failed (exit status {done.returncode}): {' '.join(done.stderr.split())[-300:]}")
    return int(collected[1]) / int(delivered[1])


def check(now: Sequence[Recorded], path: Path, record: bool) -> list[str]:
    """Return the benchmarks that have grown, a line each. With `record` write the new values instead. A benchmark that is in no file yet is
    an addition."""
    before = recorded.read(path)
    if record:
        recorded.write({**before, **{value.benchmark: value for value in now}}.values(), path)
        return []
    return recorded.grown(before, now)


def _line(value: Recorded, before: Mapping[str, Recorded]) -> str:
    old = before.get(value.benchmark)
    target = CASES[value.benchmark].targets.get("instructions_per_packet")
    change = "not recorded yet" if old is None else f"{100 * (value.instructions_per_packet / old.instructions_per_packet - 1):+.1f} %"
    aimed = "" if target is None else f", target {target:.0f}"
    return f"{value.benchmark:24} {value.instructions_per_packet:6.0f} instructions per packet ({change}{aimed})"


def main(arguments: list[str] | None = None, path: Path = recorded.FILE) -> int:
    """The exit status."""
    counted = [name for name, case in CASES.items() if case.counted]
    described = "Count instructions per packet and compare with those recorded."
    asked = parse(arguments, described, "benchmark", counted, "write the new values to benchmarks/instructions.csv")
    valgrind = valgrind_version()
    if valgrind is None:
        print("instructions per packet: not measured, valgrind is not installed")
        return 0
    program, rustc = build("run"), rustc_version()
    before, today, now = recorded.read(path), datetime.datetime.now(datetime.UTC).date().isoformat(), []
    for name in asked.names or counted:
        now.append(Recorded(name, round(count(program, network(CASES[name].scenario)), 1), rustc, valgrind, today))
        print(_line(now[-1], before), flush=True)
    others = {old.rustc for old in before.values()} - {rustc}
    if others and not asked.record:
        print(f"note: recorded with rustc {', '.join(sorted(others))}, counted with {rustc}")
    lines = check(now, path, asked.record)
    for line in lines:
        print(f"grown: {line}", file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    end_with(main)
