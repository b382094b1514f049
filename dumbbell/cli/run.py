"""`dumbbell run FILE`: runs a scenario."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping
from typing import Annotated, Any, NamedTuple

import typer

from dumbbell.cli.executor import ClusterOption, ExecutorOption, WorkersOption, make_executor
from dumbbell.cli.hosts import HostsOption
from dumbbell.cli.output import JsonOption, human_time, note, print_columns, print_json
from dumbbell.cli.progress import runs_bar
from dumbbell.cli.repeats import repeats_json, show_repeats
from dumbbell.cli.scenario_runs import FileArgument, MostCellsOption, OutOption, SetOption, read_scenario
from dumbbell.collector import collector_paused
from dumbbell.executor import Executor
from dumbbell.metrics.throughput import elapsed_throughput_mbit
from dumbbell.results import Run, Store, limit_notes, limited_shares
from dumbbell.results.summary import completion_s
from dumbbell.results.tables import NOT_TCP
from dumbbell.running.execute import Outcome, execute_each
from dumbbell.running.sweep import PreparedSweep, Requested
from dumbbell.running.until.rounds import Repeated
from dumbbell.scenario import Scenario


def command(
    file: FileArgument,
    values: SetOption = None,
    out: OutOption = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = "threads",
    cluster: ClusterOption = None,
    most_cells: MostCellsOption = None,
    hosts: HostsOption = None,  # noqa: ARG001
    allow_library: Annotated[
        bool, typer.Option("--allow-library", help="Load and run the libraries that it names as congestion controls.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Run a scenario. Existing runs in the results folder are not rerun."""
    where = make_executor(executor, workers, cluster)
    scenario, folder = read_scenario(file, out, most_cells, values or ())
    store = Store(folder)
    began = time.perf_counter()
    done = _computed(scenario, store, where, most_cells, allow_library)
    jobs, outcome, ran = done.jobs, done.outcome, done.outcome.ran
    wall_s = time.perf_counter() - began

    count = dict.fromkeys(("ok", "warn", "invalid"), 0)
    listed: list[dict[str, Any]] = []
    shown = _Tables(list(jobs.asked(0)[1]))
    limits: list[str] = []
    with collector_paused():
        for run in outcome:
            count[run.status] += 1
            for reason in run.reasons:
                note(f"{run.status}: {_cell(run.cell) or run.name}: {reason}")
            found = list(limit_notes(run))
            limits += [f"{_cell(run.cell) or run.name}: {line}" for line in found]
            if json:
                facts = {"key": run.key, "cell": dict(run.cell), "status": run.status, "reasons": list(run.reasons), "digest": run.digest}
                listed.append({**facts, "limits": found})
            elif len(jobs) <= _MOST_SHOWN:
                shown.add(run)
    kept = sum(count.values()) - ran
    if json:
        summary = {"name": scenario.name, "out": str(store.path), "ran": ran, "kept": kept, "wall_s": wall_s}
        until = {} if done.repeated is None else {"until": repeats_json(scenario, done.repeated)}
        print_json({**summary, **count, "damaged": list(outcome.damaged), **until, "runs": listed})
    else:
        shown.show()
        if done.repeated is not None:
            show_repeats(scenario, done.repeated)
    for line in limits[:_MOST_LIMITS]:
        note(f"note: {line}")
    if len(limits) > _MOST_LIMITS:
        note(f"note: {len(limits) - _MOST_LIMITS} more flows limited by a buffer; `dumbbell table` has the shares")
    if not json:
        what = f"{kept} were there{f', {len(outcome.damaged)} damaged left out' if outcome.damaged else ''}"
        place = str(store.path) if len(jobs) <= _MOST_SHOWN else f"{store.path}, `dumbbell table {store.path}` shows them"
        note(f"{ran} of {len(jobs)} runs in {human_time(wall_s)}, {what}; they are in {place}")
    if count["invalid"]:
        raise typer.Exit(1)


class _Done(NamedTuple):
    jobs: Requested
    outcome: Outcome
    repeated: Repeated | None
    """Runs of a scenario with `until`."""


def _computed(scenario: Scenario, store: Store, where: Executor, most_runs: int | None, allow_library: bool) -> _Done:
    """The runs of a scenario, once all are there."""
    if scenario.until is not None:
        from dumbbell.running.until.rounds import repeat_until

        with runs_bar(scenario.name) as progress:
            found = repeat_until(scenario, store, where, progress, allow_library, most_runs)
        return _Done(found.jobs, found.outcome, found)
    jobs = PreparedSweep(scenario, most_runs)
    with runs_bar(scenario.name) as progress:
        outcome = execute_each(jobs, store, where, progress, allow_library=allow_library)
    return _Done(jobs, outcome, None)


_MOST_SHOWN = 1000
"""Runs of a scenario that are shown one by one."""
_MOST_LIMITS = 10
"""Flows of which it is said that a buffer limits them."""


class _Tables:
    """Tables of runs: a row for each flow, each group, and each stream of datagrams that measures."""

    def __init__(self, coordinates: list[str]) -> None:
        self._coordinates = coordinates
        self._flows: list[tuple[str, ...]] = []
        self._groups: list[tuple[str, ...]] = []
        self._streams: list[tuple[str, ...]] = []
        self._completed = False
        """True if a flow has a size."""

    def add(self, run: Run) -> None:
        """Adds the rows of a run."""
        heads = (run.key[:10], *map(str, run.cell.values()))
        self._completed = self._completed or any(
            workload.get("transfer_bytes") is not None for workload in (run.plan or {}).get("workloads", ()) if workload["kind"] == "tcp"
        )
        for row in run.flows.rows():
            if row.get("transport") not in NOT_TCP:
                row["active_ns"] = row["end_ns"] - row["start_ns"]
                rate = elapsed_throughput_mbit(row["rx_bytes"], row["active_ns"]) if row["active_ns"] else 0.0
                limit = _most(limited_shares(row))
                numbers = f"{rate:.3f}", str(row["retransmits"]), _seconds(completion_s(row)), limit
                self._flows.append((*heads, row["flow"], *numbers, run.status))
        self._groups += [(*heads, row["group"], *_numbers(row, _OF_GROUPS), run.status) for row in run.groups.rows()]
        streams = [run.flows.row(i) for i, lost in enumerate(run.flows.column("lost_packets")) if lost is not None]
        self._streams += [(*heads, row["flow"], *_numbers(row, _OF_STREAMS), run.status) for row in streams]

    def show(self) -> None:
        """Prints them, without columns that have no value."""
        flows = ("run", *self._coordinates, "flow", "Mbit/s", "retransmits", "completed s", "limited by", "status")
        if self._flows:
            dropped = () if self._completed else (flows.index("completed s", len(self._coordinates) + 2),)
            _print_without(dropped, [flows, *self._flows])
        for what, names, rows in (("group", _OF_GROUPS, self._groups), ("stream", _OF_STREAMS, self._streams)):
            if rows:
                first = len(self._coordinates) + 2
                columns = range(first, first + len(names))
                heads = ("run", *self._coordinates, what, *names.values(), "status")
                _print_without([i for i in columns if all(row[i] == "-" for row in rows)], [heads, *rows])


_OF_GROUPS = {
    "connections": "connections",
    "completed": "completed",
    "completion_median_ms": "median ms",
    "completion_p95_ms": "p95 ms",
    "completion_p99_ms": "p99 ms",
    "slowdown_median": "slowdown median",
    "slowdown_p95": "slowdown p95",
    "transactions": "transactions",
    "latency_median_ms": "latency median ms",
    "latency_p95_ms": "latency p95 ms",
    "startup_mean_ms": "start-up ms",
    "stalls": "stalls",
    "stalled_ms": "stalled ms",
    "retransmits": "retransmits",
}
"""Columns of the table of groups that are shown, and their headings."""
_OF_STREAMS = {
    "sent_packets": "sent",
    "lost_packets": "lost",
    "owd_median_ms": "one-way median ms",
    "owd_p99_ms": "p99 ms",
    "rtt_median_ms": "RTT median ms",
    "rtt_p99_ms": "RTT p99 ms",
    "jitter_ms": "jitter ms",
    "late_packets": "late",
    "r_factor": "R",
    "mos": "MOS",
}
"""Headings of the columns of streams of datagrams that measure."""


def _numbers(row: Mapping[str, Any], names: Collection[str]) -> list[str]:
    """Some columns of a row as text."""
    return [f"{row[name]:.3f}" if isinstance(row.get(name), float) else str(row.get(name, "-")) for name in names]


def _print_without(dropped: Collection[int], rows: list[tuple[str, ...]]) -> None:
    """Prints rows without some columns."""
    print_columns([[text for i, text in enumerate(row) if i not in dropped] for row in rows] if dropped else rows)


def _seconds(time_s: float) -> str:
    return "-" if math.isnan(time_s) else f"{time_s:.3f}"


def _most(shares: Mapping[str, float]) -> str:
    """Return the largest limit of a flow: `cwnd 97 %`."""
    known = {name: share for name, share in shares.items() if not math.isnan(share)}
    most = max(known, key=lambda name: known[name], default=None)
    return "-" if most is None else f"{most} {100 * known[most]:.0f} %"


def _cell(cell: Mapping[str, object]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in cell.items())
