"""Some one-flow cells as Linux 6.12.117 itself runs them, beside ours and the published ones.

The kernel ran in virtual time with ECN and offloads on, netem of half the delay + 0.3 ms on both ingresses of the middlebox, cake on both
egresses, ssthresh 5 on the route, 300 s.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.report.tables import Table
from dumbbell.studies.sce import reductions as r

if TYPE_CHECKING:
    from dumbbell.report.reference import Reference
    from dumbbell.results import Run

_FILE = Path(__file__).parent / "kernel_6_12.csv"


@cache
def kernel_throughputs() -> dict[tuple[str, float, float], float]:
    """(cc, bandwidth in Mbit/s, delay in ms) -> the kernel's goodput over the run, Mbit/s."""
    with _FILE.open(newline="", encoding="utf-8") as file:
        return {
            (row["cc"], float(row["bandwidth_mbit"]), float(row["delay_ms"])): float(row["kernel_throughput_mbit"])
            for row in csv.DictReader(file)
        }


def kernel_table(runs: Sequence[Run], published: Reference) -> Table:
    """Throughput (Mbit/s) of the kernel, ours and the published one; empty where there is none."""
    ours, theirs = r.one_flow(runs), published.lookup()

    def text(value: float | None) -> str:
        return "" if value is None else f"{value:.2f}"

    rows = []
    for cell, kernel in kernel_throughputs().items():
        cc, bandwidth, delay = cell
        values = ours.get((cell, r.THROUGHPUT))
        mine = float(np.median(values)) if values else None
        rows.append([f"{cc} {bandwidth:g} Mbit/s, {delay:g} ms", text(kernel), text(mine), text(theirs.get((cell, r.THROUGHPUT)))])
    return Table("", ["flow", "Linux 6.12", "ours", "published"], rows)
