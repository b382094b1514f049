"""The part kernel-pairs: two flows through one queue on the real Linux 6.12 with SCE, ten starts a cell, compared with the simulator.

A pair's share depends on when the flows start, so each cell has ten starts (the first at 0, the others with jitter), on both engines. The
simulator agrees with the kernel if the median of its shares is inside the range of the kernel's. The rules are those of Linux 5.1 as far as
options give them (`kernel`). `kernel_pairs.csv` is `tables/measured.csv` of the command below.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.comparing.agreement import percent
from dumbbell.comparing.format import Format, Key, Measured, Metric, Tolerance
from dumbbell.comparing.reference import read_reference
from dumbbell.comparing.tables import Table
from dumbbell.study.model import Part, Request
from dumbbell.study.repeats import repeats
from dumbbell_studies.sce import pairs, reductions
from dumbbell_studies.sce.formats import TWO_FLOW_FORMAT
from dumbbell_studies.sce.implementation import LIKE_5_1
from dumbbell_studies.sce.kernel import of_kernel
from dumbbell_studies.sce.published import FOLDER
from dumbbell_studies.sce.scenarios import pair_document

if TYPE_CHECKING:
    from dumbbell.results import Run
    from dumbbell.scenario import ResolvedScenario

FILE = Path(__file__).parent / "kernel_pairs.csv"
COMMAND = "dumbbell reproduce sce --part kernel-pairs --engine kernel"
STARTS = 10
CC_PAIRS = (("reno", "reno-sce"), ("cubic", "dctcp-sce"), ("reno-sce", "dctcp-sce"), ("dctcp", "dctcp-sce"), ("cubic", "reno"))
POINTS = ((1.0, 0.0), (1.0, 10.0), (1.0, 20.0), (1.0, 80.0), (10.0, 20.0), (10.0, 80.0))
"""Bandwidths (Mbit/s) with delays (ms)."""
QUICK_CC_PAIRS = CC_PAIRS[:2]
LEAST, MEDIAN, MOST = "share_least", "share", "share_most"
_NEAR = 0.01
"""A second margin beyond the kernel's range for the table."""


def cells(quick: bool = False) -> list[pairs.PairCell]:
    """Return the cells that run, those of `--quick` or all."""
    chosen = QUICK_CC_PAIRS if quick else CC_PAIRS
    grid = itertools.product(pairs.QUEUE_MODES, chosen, POINTS)
    return [pairs.PairCell(mode, cc1, cc2, *point) for mode, (cc1, cc2), point in grid]


def scenarios(request: Request) -> list[ResolvedScenario]:
    """The requested runs."""
    return [run for cell in cells(request.quick) for run in repeats(pair_document(cell, LIKE_5_1), vars(cell), request)]


def shares(runs: Sequence[Run]) -> dict[Key, list[float]]:
    """Return the share of the first flow in the throughput of both, for each cell one value per start."""
    found: dict[Key, list[float]] = {}
    for run in runs:
        if (cell := pairs.pair_cell_of(run)) is not None:
            first, second = (reductions.throughput_mbit(run, f"flow/{name}") for name in pairs.FLOWS)
            found.setdefault(cell.key, []).append(first / (first + second))
    return found


def measure(runs: Sequence[Run]) -> Measured:
    """Return the minimum, the median and the maximum of the shares of each cell."""
    reduce = {LEAST: min, MEDIAN: np.median, MOST: max}
    return {(key, metric): [float(of(values))] for key, values in shares(runs).items() for metric, of in reduce.items()}  # type: ignore[operator]


@cache
def kernel_ranges() -> dict[Key, tuple[float, float, float]]:
    """Return the minimum, the median and the maximum of the kernel's shares in each cell."""
    found: dict[Key, dict[str, float]] = {}
    for value in read_reference(FILE, [PAIRS_FORMAT]).values:
        found.setdefault(value.key, {})[value.metric] = value.value
    return {key: (values[LEAST], values[MEDIAN], values[MOST]) for key, values in found.items()}


@cache
def _published() -> dict[Key, float]:
    """The published share of the first flow in each cell."""
    found: dict[Key, dict[str, float]] = {}
    with (FOLDER / f"{TWO_FLOW_FORMAT.name}.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["metric"] == "throughput_mbit":
                key: Key = (row["queue_mode"], row["cc1"], row["cc2"], float(row["bandwidth_mbit"]), float(row["delay_ms"]))
                found.setdefault(key, {})[row["flow"]] = float(row["value"])
    return {key: flows["1"] / sum(flows.values()) for key, flows in found.items() if len(flows) == 2}


def agreement(runs: Sequence[Run]) -> Table:
    """Return the share of cells whose share is inside the kernel's range: dumbbell's, and the published ones. By queue, and all."""
    ours = {} if of_kernel(runs) else {key: float(np.median(values)) for key, values in shares(runs).items()}
    rows = []
    for whose, values in (("dumbbell", ours), ("published", _published())):
        for mode in (*pairs.QUEUE_MODES, ""):
            there = [key for key in kernel_ranges() if key in values and mode in ("", key[0])]
            if not there:
                continue
            beyond = [max(low - values[key], values[key] - high, 0.0) for key in there for low, _, high in [kernel_ranges()[key]]]
            off = [abs(values[key] - kernel_ranges()[key][1]) for key in there]
            inside = [percent(sum(each <= margin for each in beyond) / len(beyond)) for margin in (0.0005, _NEAR)]
            rows.append([whose, mode or "all", str(len(there)), *inside, f"{np.median(off):.3f}", f"{np.percentile(off, 95):.3f}"])
    heads = ["compared with the kernel", "queue", "cells", "inside its range", "within 0.01 of it", "median error of the share", "p95"]
    return Table("", heads, rows)


def cells_table(runs: Sequence[Run]) -> Table:
    """Return each cell's share of the first flow: the kernel's median and range, dumbbell's, the published one."""
    ours = {} if of_kernel(runs) else shares(runs)
    rows = []
    for key, (low, median, high) in kernel_ranges().items():
        mode, cc1, cc2, bandwidth, delay = key
        mine = ours.get(key)
        own = ["", ""] if mine is None else [f"{np.median(mine):.3f}", f"{min(mine):.3f} to {max(mine):.3f}"]
        published = _published().get(key)
        name = f"{cc1} and {cc2}, {bandwidth:g} Mbit/s, {delay:g} ms, {mode}"
        rows.append([name, f"{median:.3f}", f"{low:.3f} to {high:.3f}", *own, "" if published is None else f"{published:.3f}"])
    return Table("", ["flows", "kernel", "its range", "dumbbell", "range over seeds", "published"], rows)


def measured_table(runs: Sequence[Run]) -> Table:
    """Return what a kernel measured, as kernel_pairs.csv has it."""
    keys = " ".join(sorted({str(run.engine["kernel"]) for run in runs if "kernel" in run.engine}))
    day = datetime.now(UTC).date().isoformat()
    rows = []
    for ((mode, cc1, cc2, bandwidth, delay), metric), (value,) in measure(runs).items():
        rows.append([str(mode), str(cc1), str(cc2), f"{bandwidth:g}", f"{delay:g}", metric, f"{value:.4f}", keys, day, COMMAND])
    return Table("", list(PAIRS_FORMAT.columns), rows)


def summaries(runs: Sequence[Run]) -> dict[str, Table]:
    """The tables of a report."""
    own = {"measured": measured_table(runs)} if of_kernel(runs) else {}
    return {"pairs-beside-kernel": agreement(runs), "pairs": cells_table(runs), **own}


_KEYS = ("queue_mode", "cc1", "cc2", "bandwidth_mbit", "delay_ms")
PAIRS_FORMAT = Format(
    name="sce_kernel_pairs",
    columns=(*_KEYS, "metric", "value", "kernel", "date", "command"),
    keys=_KEYS,
    numbers=frozenset({"bandwidth_mbit", "delay_ms"}),
    metrics={
        name: Metric(unit="", title=f"Share of the first flow, {title} of ten starts", tolerance=Tolerance(absolute=0.05))
        for name, title in ((LEAST, "least"), (MEDIAN, "median"), (MOST, "most"))
    },
    measure=measure,
)

KERNEL_PAIRS = Part(
    name="kernel-pairs",
    title=f"SCE, two flows: {len(cells())} cells compared with the real kernel, ten starts each",
    formats=(PAIRS_FORMAT,),
    published={PAIRS_FORMAT.name: FILE},
    scenarios=scenarios,
    quick_note=f"{len(cells(quick=True))} of {len(cells())} cells",
    figures={},
    summaries=summaries,
    seeds=STARTS,
    quick_seeds=STARTS,
    kernel="sce",
)
