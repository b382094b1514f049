"""`dumbbell run FILE`: runs a scenario."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from dumbbell.cli.executor import ExecutorOption, WorkersOption, make_executor
from dumbbell.cli.output import JsonOption, human_time, note, print_columns, print_json
from dumbbell.cli.progress import runs_bar
from dumbbell.cli.scenario_runs import FileArgument, MostCellsOption, OutOption, read_scenario

if TYPE_CHECKING:
    from dumbbell.results import Run


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="run")(_run)


def _run(
    file: FileArgument,
    out: OutOption = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = "threads",
    most_cells: MostCellsOption = None,
    json: JsonOption = False,
) -> None:
    """Run a scenario; what is in the results folder already is not run again."""
    from dumbbell.engines.execute import execute
    from dumbbell.metrics.throughput import elapsed_throughput_mbit
    from dumbbell.results.summary import completion_s

    where = make_executor(executor, workers)
    scenario = read_scenario(file, out, most_cells)
    store = scenario.store
    ran = len(scenario.missing)
    began = time.perf_counter()
    with runs_bar(scenario.name) as progress:
        runs = execute(scenario.runs, store, where, progress)
    wall_s = time.perf_counter() - began

    count = {status: sum(run.status == status for run in runs) for status in ("ok", "warn", "invalid")}
    for run in runs:
        for reason in run.reasons:
            note(f"{run.status}: {_cell(run.cell) or run.name}: {reason}")
    if json:
        listed = [
            {"key": run.key, "cell": dict(run.cell), "status": run.status, "reasons": list(run.reasons), "digest": run.digest}
            for run in runs
        ]
        summary = {"name": scenario.name, "out": str(store.path), "ran": ran, "kept": len(runs) - ran, "wall_s": wall_s}
        print_json({**summary, **count, "damaged": [damage.key for damage in runs.damaged], "runs": listed})
    else:
        sized = any(workload.transfer_bytes is not None for run in scenario.runs for workload in run.plan.tcp)
        done = ("completed s",) if sized else ()
        rows: list[tuple[object, ...]] = [("run", *(scenario.runs[0].resolved.cell), "flow", "Mbit/s", "retransmits", *done, "status")]
        for run in runs:
            for entity, values in run.counters.items():
                if entity.startswith("flow/"):
                    rate = elapsed_throughput_mbit(values["rx_bytes"], values["active_ns"]) if values["active_ns"] else 0.0
                    flow = entity.removeprefix("flow/")
                    took = (_seconds(completion_s(values)),) if sized else ()
                    rows.append((run.key[:10], *run.cell.values(), flow, f"{rate:.3f}", values["retransmits"], *took, run.status))
        if len(rows) > 1:
            print_columns(rows)
        if any(len(run.groups) for run in runs):
            print_columns(_groups(runs.runs))
        kept = f"{len(runs) - ran} were there{f', {len(runs.damaged)} damaged left out' if runs.damaged else ''}"
        note(f"{ran} of {len(scenario.runs)} runs in {human_time(wall_s)}, {kept}; they are in {store.path}")
    if count["invalid"]:
        raise typer.Exit(1)


def _groups(runs: Sequence[Run]) -> list[tuple[object, ...]]:
    """A row for each group of connections that come and go, or carry requests and responses."""
    shown = {
        "connections": "connections",
        "completed": "completed",
        "completion_median_ms": "median ms",
        "completion_p95_ms": "p95 ms",
        "transactions": "transactions",
        "latency_median_ms": "latency median ms",
        "latency_p95_ms": "latency p95 ms",
        "retransmits": "retransmits",
    }
    present = [name for name in shown if any(value is not None for run in runs for value in run.groups.column(name))]
    rows: list[tuple[object, ...]] = [("run", *runs[0].cell, "group", *(shown[name] for name in present), "status")]
    for run in runs:
        for row in run.groups.rows():
            numbers = (f"{row[name]:.3f}" if isinstance(row.get(name), float) else row.get(name, "-") for name in present)
            rows.append((run.key[:10], *run.cell.values(), row["group"], *numbers, run.status))
    return rows


def _seconds(time_s: float) -> str:
    return "-" if math.isnan(time_s) else f"{time_s:.3f}"


def _cell(cell: Mapping[str, object]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in cell.items())
