"""Measuring: CPU time (user and system) of the thread, the best of several runs, because other work disturbs wall time."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dumbbell.bench import sweeping, table
from dumbbell.bench.cases import CASES, CELL, DRAFT, GUESTS, NAMES, PLAN, START_UP, TABLE, Case
from dumbbell.bench.recorded import read
from dumbbell.engines import sim
from dumbbell.errors import BadInput, nearest
from dumbbell.executor import Threads
from dumbbell.executor.progress_state import Progress
from dumbbell.results import Store
from dumbbell.running.execute import execute
from dumbbell.running.prepare import prepare
from dumbbell.scenario import Scenario

_REPEATS = 5
_DRAFT_WORKERS = 2
_START_UP_TARGET_MS = 5.0
_COMMANDS: Mapping[str, tuple[Callable[[int], float], float]] = {
    TABLE: (table.cpu_s, 1000.0),
    PLAN: (sweeping.plan_cpu_s, 1000.0),
    CELL: (sweeping.cell_cpu_s, 0.3),
}
"""Functions that take a number of measurements and give CPU seconds, with the target in ms."""
_DRAFT_TARGET_S = 180.0

Row = dict[str, Any]
"""The result of one benchmark: always `name`, `packets`, `cpu_s`, `packets_per_cpu_s`, `instructions_per_packet` (None if not applicable)
and `targets`; some benchmarks add further values."""


def check(names: list[str]) -> None:
    """Raises `BadInput` if one of the names is not a benchmark."""
    for name in names:
        if name not in NAMES:
            raise BadInput(f"unknown benchmark {name!r}{nearest(name, NAMES)}; expected one of {', '.join(NAMES)}")


def network(scenario: Mapping[str, Any]) -> str:
    """The plan of the scenario's only run in the simulator's form, JSON."""
    (resolved,) = Scenario.model_validate(scenario).expand()
    (prepared,) = prepare([resolved], on=sim.ENGINE.name)
    return str(prepared.compiled.text)


def measure(name: str, progress: Progress | None = None) -> Row:
    """Measures one of `NAMES`. `progress` is called only by `DRAFT`."""
    if name == DRAFT:
        return _draft(progress)
    row = _measure(name)
    if name in CASES and (other := CASES[name].cost_relative_to):
        _relate(row, _measure(other))
    return row


def best_of_rounds(names: Sequence[str], rounds: int) -> list[Row]:
    """The minimum CPU time of each of `names` over several rounds through all of them: other load on the machine lasts minutes.

    `names` must include the cases to which others are relative, and must not include `DRAFT`.
    """
    best: dict[str, Row] = {}
    for _ in range(rounds):
        for name in names:
            row = _measure(name)
            if name not in best or row["cpu_s"] < best[name]["cpu_s"]:
                best[name] = row
    for name, row in best.items():
        if name in CASES and (other := CASES[name].cost_relative_to):
            _relate(row, best[other])
    return list(best.values())


def _measure(name: str) -> Row:
    """Measures start-up, table or a single case, without its cost ratio."""
    if name == START_UP:
        return _start_up()
    if name in _COMMANDS:
        cpu_s, target_ms = _COMMANDS[name][0](_REPEATS), _COMMANDS[name][1]
        return _row(name, {"ms": target_ms}, None, cpu_s) | {"ms": 1e3 * cpu_s} | ({"runs": table.RUNS} if name == TABLE else {})
    if name in GUESTS:
        return _row(name, GUESTS[name].targets, *_run_guest(GUESTS[name]))
    case, recorded = CASES[name], read().get(name)
    packets, cpu_s = _run(case)
    row = _row(name, case.targets, packets, cpu_s, recorded.instructions_per_packet if recorded else None)
    return row | ({"run_cpu_s": cpu_s} if "run_cpu_s" in case.targets else {})


def _relate(row: Row, other: Row) -> None:
    row["cost_ratio"] = other["packets_per_cpu_s"] / row["packets_per_cpu_s"]


def packets_per_cpu_s(scenario: Mapping[str, Any], repeats: int = _REPEATS) -> tuple[float, Mapping[str, Any]]:
    """Data packets delivered per CPU second of the simulator, and the output of the simulator."""
    description = network(scenario)
    output, cpu_s = _best(lambda: sim.native().simulate(description), repeats)
    return output["delivered_packets"] / cpu_s, output


def _run(case: Case) -> tuple[int, float]:
    """Packets delivered, and CPU seconds from parsing the scenario to the counters in Python."""
    output, cpu_s = _best(lambda: sim.native().simulate(network(case.scenario)), case.repeats)
    return int(output["delivered_packets"]), cpu_s


def _run_guest(case: Case) -> tuple[int, float]:
    """Packets delivered, and the guest's CPU seconds."""
    (prepared,) = prepare(Scenario.model_validate(case.scenario).expand())
    runs = [prepared.produce() for _ in range(case.repeats)]
    return runs[0].arrived_packets, min(run.cpu_s or 0.0 for run in runs)


def _best(work: Callable[[], Any], repeats: int = _REPEATS, clock: Callable[[], float] = time.thread_time) -> tuple[Any, float]:
    """The result of `work`, and the minimum of its CPU seconds over the runs."""
    best = float("inf")
    for _ in range(repeats):
        began = clock()
        done = work()
        best = min(best, clock() - began)
    return done, best


def _row(name: str, targets: Mapping[str, float], packets: int | None, cpu_s: float, instructions: float | None = None) -> Row:
    return {
        "name": name,
        "packets": packets,
        "cpu_s": cpu_s,
        "packets_per_cpu_s": packets / cpu_s if packets else None,
        "instructions_per_packet": instructions,
        "targets": dict(targets),
    }


def _start_up() -> Row:
    """A flow that sends one segment and is sampled for 60 s, from the scenario to the table of series: all costs other than packets."""
    scenario = {
        "name": START_UP,
        "path": {"rtt": "40ms", "bottleneck": {"rate": "100mbit", "qdisc": {"kind": "fq_codel"}}},
        "flows": [{"cc": "cubic", "bytes": "1448B"}],
        "duration": "60s",
    }

    def work() -> int:
        (run,) = execute(prepare(Scenario.model_validate(scenario).expand()), executor=Threads(1))
        return len(run.frame)

    values, cpu_s = _best(work, clock=time.process_time)  # the run is computed in another thread of this process
    return _row(START_UP, {"ms": _START_UP_TARGET_MS}, None, cpu_s) | {"ms": 1e3 * cpu_s, "values": values}


def _draft(progress: Progress | None) -> Row:
    """Measures the whole study, with its runs stored on disk as by `dumbbell reproduce`."""
    from dumbbell.study import Request, find_part

    _, part = find_part("sce", "draft")
    # Without the runs that show the ramp of marks: they are in no cell of the draft's tables.
    runs = [run for run in part.scenarios(Request(seeds=1)) if "delay_ms" in run.cell]
    with tempfile.TemporaryDirectory() as folder:
        wall, cpu = time.perf_counter(), time.process_time()
        done = execute(prepare(runs), Store(folder), Threads(_DRAFT_WORKERS), progress)
        wall_s, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
    packets = sum(int(run.engine["delivered_packets"]) for run in done)
    own = {"wall_s": wall_s, "cpu_s_per_worker": cpu_s / _DRAFT_WORKERS, "runs": len(done), "workers": _DRAFT_WORKERS}
    return _row(DRAFT, {"wall_s": _DRAFT_TARGET_S}, packets, cpu_s) | own
