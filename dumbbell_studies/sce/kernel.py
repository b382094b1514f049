"""The part kernel: some one-flow cells measured on a real kernel in virtual time, beside ours and the published values.

The kernel is Linux 6.12.117 with the SCE patches of the draft's tree: cake's SCE ramp, the T1 echo, reno-sce, dctcp-sce and the tree's
dctcp. ECN and offloads are on. The middlebox has netem with half the delay plus 0.3 ms on both ingress ports and cake on both egress ports.
Connections start with ssthresh 5. There is one run of 300 s per cell.

Two sets of rules: the kernel as it is, and following Linux 5.1 in five points: PRR, TSO deferral, the test whether a flow is cwnd-limited,
the size of TSO segments on short paths, and no immediate ACK for PSH. The simulator runs each cell with the rules of the kernel beside it.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.comparing.agreement import percent
from dumbbell.comparing.format import Format, Measured, Metric, Tolerance
from dumbbell.comparing.reference import read_reference
from dumbbell.comparing.tables import Table
from dumbbell.study.model import Part, Request
from dumbbell.study.repeats import repeats
from dumbbell_studies.sce import reductions
from dumbbell_studies.sce.formats import ONE_FLOW_FORMAT
from dumbbell_studies.sce.implementation import DRAFT
from dumbbell_studies.sce.published import FOLDER
from dumbbell_studies.sce.scenarios import QUICK_BANDWIDTHS_MBIT, QUICK_DELAYS_MS, document

if TYPE_CHECKING:
    from dumbbell.results import Run
    from dumbbell.scenario import ResolvedScenario

FILE = Path(__file__).parent / "kernel.csv"
_WITHIN = (0.01, 0.03)
"""Shares of the bandwidth within which cells are counted. The second one is the tolerance of the comparison with the draft."""

_LIKE_6_12: Mapping[str, Any] = {
    "prr_below_ssthresh": "una",
    "tso_defer": "ack-near",
    "cwnd_limited": "sticky",
    "tso_rtt_log": 9,
    "ack_full_push": True,
}
"""The five points of our stack for the study, as in Linux 6.12."""

RULES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "rules_5_1_mbit": ("Linux, 5.1 rules", {}),
    "rules_6_12_mbit": ("Linux 6.12", _LIKE_6_12),
}
"""Metric of kernel.csv -> the kernel's name in tables, and the options of our stack for the same rules."""

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


def scenarios(request: Request) -> list[ResolvedScenario]:
    """The requested runs: each cell of the kernel with each of its rules."""
    return [
        replace(run, cell={reductions.IMPLEMENTATION: rules, **run.cell})
        for (cc, bandwidth, delay), kernel in kernel_throughputs().items()
        if not request.quick or (bandwidth in QUICK_BANDWIDTHS_MBIT and delay in QUICK_DELAYS_MS)
        for rules in kernel
        for run in repeats(
            document(cc, bandwidth, delay, replace(DRAFT, options=RULES[rules][1])),
            {"cc": cc, "bandwidth_mbit": bandwidth, "delay_ms": delay},
            request,
        )
    ]


def measure(runs: Sequence[Run]) -> Measured:
    """Our throughput (Mbit/s) of each cell, with each of the rules, one value per repeat."""
    measured: Measured = {}
    for run in runs:
        rules = str(run.cell.get(reductions.IMPLEMENTATION))
        if rules in RULES:
            key = (str(run.cell["cc"]), float(run.cell["bandwidth_mbit"]), float(run.cell["delay_ms"]))
            measured.setdefault((key, rules), []).append(reductions.throughput_mbit(run, reductions.flow_of(run)))
    return measured


def agreement(runs: Sequence[Run]) -> Table:
    """How far our runs, and the published values, are from the kernel's throughput. Errors are shares of the bandwidth."""
    ours = {cell: float(np.median(values)) for cell, values in measure(runs).items()}
    published = _published()
    rows = []
    for rules, (title, _) in RULES.items():
        kernel = {cell: found[rules] for cell, found in kernel_throughputs().items() if rules in found}
        mine = {cell: ours[cell, rules] for cell in kernel if (cell, rules) in ours}
        for whose, values in (("ours, same rules", mine), ("published", published)):
            errors = [abs(values[cell] - kernel[cell]) / cell[1] for cell in kernel if cell in values]
            if errors:
                shares = [percent(sum(error <= within for error in errors) / len(errors)) for within in _WITHIN]
                spread = [percent(float(np.percentile(errors, q)), 2) for q in (50, 95)]
                rows.append([title, whose, str(len(errors)), *shares, *spread])
    within = [f"within {100 * each:g} % of bandwidth" for each in _WITHIN]
    return Table("", ["kernel", "beside it", "cells", *within, "median", "p95"], rows)


def kernel_table(runs: Sequence[Run]) -> Table:
    """Throughput (Mbit/s) of the kernel and of ours, with both rules, and as published. A cell without a value is empty."""
    ours = {cell: float(np.median(values)) for cell, values in measure(runs).items()}

    def text(value: float | None) -> str:
        return "" if value is None else f"{value:.2f}"

    rows = []
    for cell, kernel in kernel_throughputs().items():
        cc, bandwidth, delay = cell
        by_rules = [text(value) for rules in RULES for value in (kernel.get(rules), ours.get((cell, rules)))]
        rows.append([f"{cc} {bandwidth:g} Mbit/s, {delay:g} ms", *by_rules, text(_published().get(cell))])
    return Table("", ["flow", *(head for title, _ in RULES.values() for head in (title, f"ours, as {title}")), "published"], rows)


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
    columns=("cc", "bandwidth_mbit", "delay_ms", "metric", "value"),
    keys=("cc", "bandwidth_mbit", "delay_ms"),
    numbers=frozenset({"bandwidth_mbit", "delay_ms"}),
    metrics={
        rules: Metric(unit="Mbit/s", title=f"Throughput, {title}", tolerance=Tolerance(of_column=("bandwidth_mbit", _WITHIN[1])))
        for rules, (title, _) in RULES.items()
    },
    measure=measure,
)

KERNEL = Part(
    name="kernel",
    title="SCE, one flow: 58 cells beside the real kernel in the study's set-up",
    formats=(KERNEL_FORMAT,),
    published={KERNEL_FORMAT.name: FILE},
    scenarios=scenarios,
    quick_note="the cells of 3 bandwidths x 3 delays",
    figures={},
    summaries=lambda runs: {"beside-kernel": agreement(runs), "cells": kernel_table(runs)},
)
