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
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from pathlib import Path

from benchmarks.arguments import end_with
from benchmarks.example import build
from dumbbell.cli.progress import progress_bar
from dumbbell.engines.base import expected_packets
from dumbbell.engines.prepared import Prepared
from dumbbell.errors import BadInput, EnvironmentFault
from dumbbell.executor import default_workers
from dumbbell.running.prepare import prepare
from dumbbell.scenario import ResolvedScenario, Scenario
from dumbbell.study import find_part
from dumbbell.study.model import Request

_HERE = Path(__file__).parent
RECORDED = _HERE / "recorded.json"
_SCENARIOS = _HERE / "scenarios.jsonl"
"""Scenarios of the contract suite as of 2026-11-21, 300 that were drawn at random, and some with queues of hosts; a scenario without its
defaults a line."""
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
    "hosts": lambda: _written("hosts"),
}


def fingerprints(program: Path, runs: Sequence[Prepared], workers: int, progress: Callable[[int, int], None]) -> list[str]:
    """The fingerprint of each run, in order. Raises `EnvironmentFault` if the program fails.

    Each worker has a process of the program that it gives one run at a time, the most expensive first, so that all end together.
    """
    waiting = deque(sorted(range(len(runs)), key=lambda i: -expected_packets(runs[i].plan)))
    found: dict[int, str] = {}

    def work() -> None:
        pipe = subprocess.PIPE
        with subprocess.Popen([program], bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe) as process:
            assert process.stdin is not None  # pipes
            assert process.stdout is not None
            assert process.stderr is not None
            while waiting:
                try:
                    i = waiting.popleft()
                except IndexError:  # another worker was faster
                    return
                with suppress(BrokenPipeError):  # what it says of its end is read below
                    process.stdin.write(f"{runs[i].compiled.text}\n".encode())
                if not (answer := process.stdout.readline().decode().strip()):
                    waiting.clear()
                    raise EnvironmentFault(f"{program} failed: {' '.join(process.stderr.read().decode().split())[-300:]}")
                found[i] = answer
                progress(len(found), len(runs))

    with ThreadPoolExecutor(workers) as pool:
        working = [pool.submit(work) for _ in range(min(workers, len(runs)))]
        try:
            for each in working:
                each.result()
        finally:
            waiting.clear()
    return [found[i] for i in range(len(runs))]


def changes(found: Mapping[str, str], recorded: Mapping[str, str]) -> list[str]:
    """The runs whose fingerprint is not the recorded one, a line each: what was found, and what is recorded."""
    return [
        f"{label}: {value}, recorded {recorded.get(label, 'nothing')}" for label, value in found.items() if recorded.get(label) != value
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.digests", description="Compare fingerprints of runs with those recorded.")
    parser.add_argument("sets", metavar="SET", nargs="*", help=f"of {', '.join(SETS)}; all by default")
    parser.add_argument("--quick", action="store_true", help=f"every {_QUICK_STRIDE}rd run of each")
    parser.add_argument("--record", action="store_true", help="write the fingerprints of today to recorded.json")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.sets) - SETS.keys():
        raise BadInput(f"unknown set {sorted(unknown)[0]!r}; expected one of {', '.join(SETS)}")
    program = build("fingerprint", features=("fingerprint",))
    recorded: dict[str, dict[str, str]] = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    stride = _QUICK_STRIDE if asked.quick else 1
    runs = [(name, label, run) for name in dict.fromkeys(asked.sets or SETS) for label, run in islice(SETS[name](), None, None, stride)]
    with progress_bar("digests") as progress:
        values = fingerprints(program, prepare([run for _, _, run in runs], on="sim"), default_workers(), progress)
    found: dict[str, dict[str, str]] = {}
    for (name, label, _), value in zip(runs, values, strict=True):
        found.setdefault(name, {})[label] = value
    differing = 0
    for name, of_set in found.items():
        before = recorded.setdefault(name, {})
        changed = changes(of_set, before)
        print(f"{name}: {len(of_set)} runs, {len(changed)} differ from recorded.json")
        for line in changed[:_LISTED] if not asked.record else ():
            print(f"  {line}")
        differing += len(changed)
        before.update(of_set)
    if asked.record:
        RECORDED.write_text(json.dumps(recorded, indent=0, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    return 1 if differing else 0


if __name__ == "__main__":
    end_with(main)
