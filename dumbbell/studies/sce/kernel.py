"""Some one-flow cells on a real kernel in virtual time, beside ours and the published ones.

The kernel is Linux 6.12.117 with what the draft's tree had: cake's SCE ramp, the T1 echo, reno-sce, dctcp-sce and the tree's dctcp.
ECN and offloads are on, netem of half the delay + 0.3 ms on both ingresses of the middlebox, cake on both egresses, ssthresh 5 from the
start, 300 s, one run a cell. `rules_5_1`: five rules of TCP as Linux 5.1 has them (PRR, deferral of chunks, when the window limits, chunk
sizes on short paths, no ACK for PSH).
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.comparing.tables import Table
from dumbbell.studies.sce import reductions as r

if TYPE_CHECKING:
    from dumbbell.comparing.reference import Reference
    from dumbbell.results import Run

_FILE = Path(__file__).parent / "kernel.csv"
_RULES = {"rules_5_1_mbit": "Linux, 5.1 rules", "rules_6_12_mbit": "Linux 6.12"}
"""Column of the file and of the table."""

Cell = tuple[str, float, float]


@cache
def kernel_throughputs() -> dict[Cell, dict[str, float]]:
    """(cc, bandwidth in Mbit/s, delay in ms) -> rules -> the kernel's goodput over the run, Mbit/s; empty where it was not run."""
    with _FILE.open(newline="", encoding="utf-8") as file:
        return {
            (row["cc"], float(row["bandwidth_mbit"]), float(row["delay_ms"])): {rules: float(row[rules]) for rules in _RULES if row[rules]}
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
        listed = [text(kernel.get(rules)) for rules in _RULES]
        rows.append([f"{cc} {bandwidth:g} Mbit/s, {delay:g} ms", *listed, text(mine), text(theirs.get((cell, r.THROUGHPUT)))])
    return Table("", ["flow", *_RULES.values(), "ours", "published"], rows)
