"""Some one-flow cells measured on a real kernel in virtual time, compared with our values and the published ones.

The kernel is Linux 6.12.117 with the SCE patches of the draft's tree: cake's SCE ramp, the T1 echo, reno-sce, dctcp-sce and the tree's
dctcp. ECN and offloads are on. The middlebox has netem with half the delay plus 0.3 ms on both ingress ports and cake on both egress ports.
Connections start with ssthresh 5. There is one run of 300 s per cell.

`rules_5_1`: the kernel follows Linux 5.1 in five points: PRR, TSO deferral, the test whether a flow is cwnd-limited, the size of TSO
segments on short paths, and no immediate ACK for PSH.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.comparing.tables import Table
from dumbbell.studies.sce import reductions

if TYPE_CHECKING:
    from dumbbell.comparing.reference import Reference
    from dumbbell.results import Run

_FILE = Path(__file__).parent / "kernel.csv"
_RULES = {"rules_5_1_mbit": "Linux, 5.1 rules", "rules_6_12_mbit": "Linux 6.12"}
"""Column of the file -> column of the table."""

Cell = tuple[str, float, float]


@cache
def kernel_throughputs() -> dict[Cell, dict[str, float]]:
    """(cc, bandwidth in Mbit/s, delay in ms) -> rules -> the kernel's goodput over the run, Mbit/s. Rules without a run are missing."""
    with _FILE.open(newline="", encoding="utf-8") as file:
        return {
            (row["cc"], float(row["bandwidth_mbit"]), float(row["delay_ms"])): {rules: float(row[rules]) for rules in _RULES if row[rules]}
            for row in csv.DictReader(file)
        }


def kernel_table(runs: Sequence[Run], published: Reference) -> Table:
    """Throughput (Mbit/s) of the kernel, of our runs and as published. A cell without a value is empty."""
    ours, theirs = reductions.one_flow(runs), published.lookup()

    def text(value: float | None) -> str:
        return "" if value is None else f"{value:.2f}"

    rows = []
    for cell, kernel in kernel_throughputs().items():
        cc, bandwidth, delay = cell
        values = ours.get((cell, reductions.THROUGHPUT))
        simulated = float(np.median(values)) if values else None
        by_rules = [text(kernel.get(rules)) for rules in _RULES]
        rows.append(
            [f"{cc} {bandwidth:g} Mbit/s, {delay:g} ms", *by_rules, text(simulated), text(theirs.get((cell, reductions.THROUGHPUT)))]
        )
    return Table("", ["flow", *_RULES.values(), "ours", "published"], rows)
