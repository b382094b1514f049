"""Shows that a change of the simulator changed no result.

    python -m benchmarks.digests [--quick] [--record] [SET...]

The simulator, built with the feature `fingerprint`, hashes every event of a packet (time, port, flow, sequence number, header bits, what
became of it) and the final counters. The hash of every run of the sets is compared with the one in recorded.json. Exit status 1 if one
differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from benchmarks.example import build
from dumbbell.engines.pool import default_workers
from dumbbell.engines.sim import lower
from dumbbell.errors import BadInput, DumbbellError, EnvironmentFault
from dumbbell.scenario import ResolvedScenario, Scenario
from dumbbell.studies import find_part
from dumbbell.studies.study import Request

_HERE = Path(__file__).parent
RECORDED = _HERE / "recorded.json"
_SCENARIOS = _HERE / "scenarios.jsonl"
"""Those of the contract suite as of 2026-11-21, and 300 that were drawn at random; a scenario without its defaults a line."""
_QUICK_STRIDE = 23
"""`--quick` takes every so many runs of a set."""
_LISTED = 20
"""Differing runs that are named."""


def _study(name: str) -> Iterator[tuple[str, ResolvedScenario]]:
    _, part = find_part(name)
    for run in part.scenarios(Request(seeds=1)):
        cell = ",".join(f"{key}={value}" for key, value in run.cell.items())
        yield f"{name}:{run.name}:{cell}", run


def _written(prefix: str) -> Iterator[tuple[str, ResolvedScenario]]:
    for line in _SCENARIOS.read_text(encoding="utf-8").splitlines():
        scenario = Scenario.model_validate(json.loads(line))
        if scenario.name.startswith(prefix):
            (run,) = scenario.expand()
            yield f"{prefix}:{scenario.name}", run


SETS: Mapping[str, Callable[[], Iterator[tuple[str, ResolvedScenario]]]] = {
    "sce": lambda: _study("sce"),
    "teacup": lambda: _study("teacup"),
    "oracle": lambda: _study("oracle"),
    "contract": lambda: _written("contract"),
    "random": lambda: _written("random"),
}


def fingerprints(program: Path, runs: Sequence[ResolvedScenario], workers: int) -> list[str]:
    """The fingerprint of each run, in order. Raises `EnvironmentFault` if the program fails."""

    def work(share: Sequence[ResolvedScenario]) -> list[str]:
        text = "".join(json.dumps(lower(run)) + "\n" for run in share)
        done = subprocess.run([program], input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise EnvironmentFault(f"{program} failed: {' '.join(done.stderr.split())[-300:]}")
        return done.stdout.split()

    # Turn by turn, because neighbours cost about the same.
    with ThreadPoolExecutor(workers) as pool:
        shares = list(pool.map(work, [runs[i::workers] for i in range(workers)]))
    return [shares[i % workers][i // workers] for i in range(len(runs))]


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.digests", description="Compare fingerprints of runs with the recorded ones.")
    parser.add_argument("sets", metavar="SET", nargs="*", help=f"of {', '.join(SETS)}; all by default")
    parser.add_argument("--quick", action="store_true", help=f"every {_QUICK_STRIDE}rd run of each")
    parser.add_argument("--record", action="store_true", help="write the fingerprints of today to recorded.json")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.sets) - SETS.keys():
        raise BadInput(f"unknown set {sorted(unknown)[0]!r}; expected one of {', '.join(SETS)}")
    program = build("fingerprint", features=("fingerprint",))
    recorded: dict[str, dict[str, str]] = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    differing = 0
    for name in asked.sets or SETS:
        runs = list(islice(SETS[name](), None, None, _QUICK_STRIDE if asked.quick else 1))
        found = dict(zip((label for label, _ in runs), fingerprints(program, [run for _, run in runs], default_workers()), strict=True))
        before = recorded.setdefault(name, {})
        changed = [label for label, value in found.items() if before.get(label) != value]
        print(f"{name}: {len(found)} runs, {len(changed)} differ from recorded.json", flush=True)
        for label in changed[:_LISTED] if not asked.record else ():
            print(f"  {label}: {found[label]}, recorded {before.get(label, 'nothing')}")
        differing += len(changed)
        before.update(found)
    if asked.record:
        RECORDED.write_text(json.dumps(recorded, indent=0, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    return 1 if differing else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DumbbellError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_status)
