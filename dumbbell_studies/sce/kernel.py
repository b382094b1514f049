"""The part kernel: one-flow cells on the real Linux 6.12 with SCE in virtual time, compared with the simulator and the published values.

The kernel is Linux 6.12 with this project's changes for SCE (`dumbbell kernel build --with sce`): cake's SCE ramp, the T1 echo, reno-sce,
dctcp-sce, cubic-sce, and DCTCP's cut of each window. ECN and TSO are on. Delays and queues are those of the draft's runs. Connections start
with ssthresh 5. There is one run of 300 s per cell.

There are two sets of rules: those of the kernel, and five points that follow Linux 5.1: PRR, TSO deferral, the test for a flow being
cwnd-limited, the size of TSO segments on short paths, and no immediate ACK for PSH. Both engines run the same scenarios.

`kernel.csv` is `tables/measured.csv` of `dumbbell reproduce sce --engine kernel`.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.comparing.agreement import percent
from dumbbell.comparing.format import Format, Measured, Metric, Tolerance
from dumbbell.comparing.reference import read_reference
from dumbbell.comparing.tables import Table
from dumbbell.study.model import Part, Request
from dumbbell.study.repeats import repeats
from dumbbell_studies.sce import reductions
from dumbbell_studies.sce.formats import ONE_FLOW_FORMAT
from dumbbell_studies.sce.implementation import LIKE_5_1, LIKE_6_12, Implementation
from dumbbell_studies.sce.published import FOLDER
from dumbbell_studies.sce.scenarios import document

if TYPE_CHECKING:
    from dumbbell.results import Run
    from dumbbell.scenario import ResolvedScenario

FILE = Path(__file__).parent / "kernel.csv"
COMMAND = "dumbbell reproduce sce --engine kernel"
_WITHIN = (0.01, 0.03)
"""Shares of the bandwidth within which cells are counted. The second one is the tolerance of the comparison with the draft."""

RULES: Mapping[str, tuple[str, Implementation]] = {
    "rules_5_1_mbit": ("Linux, 5.1 rules", LIKE_5_1),
    "rules_6_12_mbit": ("Linux 6.12", LIKE_6_12),
}
"""Metric of kernel.csv -> the kernel's name in tables, and what both engines run for the rules."""
CCS = (*reductions.CCS, "cubic-sce")
LONG_MS = (40.0, 80.0, 160.0)
"""The delays at which all bandwidths run."""
SHORT: Sequence[tuple[float, float]] = tuple((bandwidth, delay) for bandwidth in (1.0, 10.0, 50.0) for delay in (0.0, 20.0))
"""Further bandwidths and delays."""
QUICK_CCS = ("reno", "reno-sce", "dctcp", "dctcp-sce")
QUICK_POINTS: Sequence[tuple[float, float]] = ((2.0, 80.0), (10.0, 20.0), (10.0, 80.0), (10.0, 160.0), (25.0, 80.0))

Cell = tuple[str, float, float]


@cache
def kernel_throughputs() -> dict[Cell, dict[str, float]]:
    """(cc, bandwidth in Mbit/s, delay in ms) -> rules -> the kernel's goodput over the run, Mbit/s. Rules without a run are missing."""
    found: dict[Cell, dict[str, float]] = {}
    with FILE.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            cell = row["cc"], float(row["bandwidth_mbit"]), float(row["delay_ms"])
            found.setdefault(cell, {})[row["metric"]] = float(row["value"])
    return found


def cells(quick: bool = False) -> list[Cell]:
    """Return the cells that run, those of `--quick` or all."""
    points = QUICK_POINTS if quick else (*SHORT, *((bandwidth, delay) for bandwidth in reductions.BANDWIDTHS_MBIT for delay in LONG_MS))
    return [(cc, bandwidth, delay) for bandwidth, delay in points for cc in (QUICK_CCS if quick else CCS)]


def scenarios(request: Request) -> list[ResolvedScenario]:
    """The requested runs: each cell with each of the rules."""
    return [
        replace(run, cell={reductions.IMPLEMENTATION: rules, **run.cell})
        for rules, (_, implementation) in RULES.items()
        for cc, bandwidth, delay in cells(request.quick)
        for run in repeats(
            document(cc, bandwidth, delay, implementation), {"cc": cc, "bandwidth_mbit": bandwidth, "delay_ms": delay}, request
        )
    ]


def measure(runs: Sequence[Run]) -> Measured:
    """Our throughput (Mbit/s) of each cell, with each of the rules, one value per seed."""
    measured: Measured = {}
    for run in runs:
        rules = str(run.cell.get(reductions.IMPLEMENTATION))
        if rules in RULES:
            key = (str(run.cell["cc"]), float(run.cell["bandwidth_mbit"]), float(run.cell["delay_ms"]))
            measured.setdefault((key, rules), []).append(reductions.throughput_mbit(run, reductions.flow_of(run)))
    return measured


def _ours(runs: Sequence[Run]) -> dict[tuple[Cell, str], float]:
    """The simulator's throughput (Mbit/s) of each cell with each of the rules. Empty if the runs are the kernel's."""
    return {cell: float(np.median(values)) for cell, values in measure(runs).items()} if not of_kernel(runs) else {}  # type: ignore[misc]


def of_kernel(runs: Sequence[Run]) -> bool:
    """True if the runs are those of a real kernel."""
    return any("kernel" in run.engine for run in runs)


def measured_table(runs: Sequence[Run]) -> Table:
    """Return what a kernel measured, as kernel.csv has it: each number with the key of the kernel, the day and the command."""
    keys = {str(run.engine["kernel"]) for run in runs if "kernel" in run.engine}
    day = datetime.now(UTC).date().isoformat()
    rows = [
        [cc, f"{bandwidth:g}", f"{delay:g}", rules, f"{np.median(values):.4g}", " ".join(sorted(keys)), day, COMMAND]
        for ((cc, bandwidth, delay), rules), values in measure(runs).items()
    ]
    return Table("", list(KERNEL_FORMAT.columns), rows)


def agreement(runs: Sequence[Run]) -> Table:
    """How far our runs, and the published values, are from the kernel's throughput. Errors are shares of the bandwidth."""
    ours = _ours(runs)
    published = _published()
    rows = []
    for rules, (title, _) in RULES.items():
        kernel = {cell: found[rules] for cell, found in kernel_throughputs().items() if rules in found}
        mine = {cell: ours[cell, rules] for cell in kernel if (cell, rules) in ours}
        for whose, values in (("dumbbell, same rules", mine), ("published", published)):
            errors = [abs(values[cell] - kernel[cell]) / cell[1] for cell in kernel if cell in values]
            if errors:
                shares = [percent(sum(error <= within for error in errors) / len(errors)) for within in _WITHIN]
                spread = [percent(float(np.percentile(errors, q)), 2) for q in (50, 95)]
                rows.append([title, whose, str(len(errors)), *shares, *spread])
    within = [f"within {100 * each:g} % of bandwidth" for each in _WITHIN]
    return Table("", ["kernel", "compared with it", "cells", *within, "median", "p95"], rows)


def kernel_table(runs: Sequence[Run]) -> Table:
    """Throughput (Mbit/s) of the kernel and of dumbbell's, with both rules, and as published. A cell without a value is empty."""
    ours = _ours(runs)

    def text(value: float | None) -> str:
        return "" if value is None else f"{value:.2f}"

    rows = []
    for cell, kernel in kernel_throughputs().items():
        cc, bandwidth, delay = cell
        by_rules = [text(value) for rules in RULES for value in (kernel.get(rules), ours.get((cell, rules)))]
        rows.append([f"{cc} {bandwidth:g} Mbit/s, {delay:g} ms", *by_rules, text(_published().get(cell))])
    return Table("", ["flow", *(head for title, _ in RULES.values() for head in (title, f"dumbbell, as {title}")), "published"], rows)


@cache
def _published() -> dict[Cell, float]:
    values = read_reference(FOLDER / f"{ONE_FLOW_FORMAT.name}.csv", [ONE_FLOW_FORMAT]).lookup()
    return {
        (str(cc), float(bandwidth), float(delay)): value
        for ((cc, bandwidth, delay), metric), value in values.items()
        if metric == reductions.THROUGHPUT
    }


KERNEL_FORMAT = Format(
    name="sce_kernel",
    columns=("cc", "bandwidth_mbit", "delay_ms", "metric", "value", "kernel", "date", "command"),
    keys=("cc", "bandwidth_mbit", "delay_ms"),
    numbers=frozenset({"bandwidth_mbit", "delay_ms"}),
    metrics={
        rules: Metric(unit="Mbit/s", title=f"Throughput, {title}", tolerance=Tolerance(of_column=("bandwidth_mbit", _WITHIN[1])))
        for rules, (title, _) in RULES.items()
    },
    measure=measure,
)


def summaries(runs: Sequence[Run]) -> dict[str, Table]:
    """The tables of a report."""
    own = {"measured": measured_table(runs)} if of_kernel(runs) else {}
    return {"beside-kernel": agreement(runs), "cells": kernel_table(runs), **own}


KERNEL = Part(
    name="kernel",
    title=f"SCE, one flow: {len(cells())} cells compared with the real kernel in the study's set-up",
    formats=(KERNEL_FORMAT,),
    published={KERNEL_FORMAT.name: FILE},
    scenarios=scenarios,
    quick_note=f"{len(cells(quick=True))} of {len(cells())} cells",
    figures={},
    summaries=summaries,
    quick_seeds=1,
    kernel="sce",
)
