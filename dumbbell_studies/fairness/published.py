"""The published numbers of the report, as printed."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dumbbell.study.claims import read_claims

FOLDER = Path(__file__).parent / "published"
RUNS = FOLDER / "alberta_runs.csv"
FILE_BYTES = 104_857_600
"""Size of each transfer: a file that dd wrote, 100 MiB."""

Place = tuple[str, str]
"""Scenario and sender."""


@dataclass(frozen=True)
class Published:
    """The numbers that the report prints for a transfer."""

    elapsed_s: float
    packets: int
    """Packets of both directions."""
    window_bytes: int
    """Mean of the windows that the data sender advertises."""
    rtt_ms: float
    retransmits: int | None
    """Data packets retransmitted; printed of scenarios with an outage alone."""

    @property
    def mbit(self) -> float:
        """The file over the elapsed time, Mbit/s: what the report's throughput is, but for slips of the pen."""
        return FILE_BYTES * 8 / self.elapsed_s / 1e6


@cache
def transfers() -> Mapping[Place, Published]:
    """Every transfer of the report."""
    with RUNS.open(newline="", encoding="utf-8") as file:
        return {
            (row["scenario"], row["sender"]): Published(
                elapsed_s=float(row["elapsed_s"]),
                packets=int(row["total_packets"]),
                window_bytes=int(row["avg_win_adv_bytes"]),
                rtt_ms=float(row["rtt_avg_ms"]),
                retransmits=int(row["rexmt_data_pkts"]) if row["rexmt_data_pkts"] else None,
            )
            for row in csv.DictReader(file)
        }


@cache
def claim_rows() -> list[dict[str, str]]:
    """Rows of claims.csv."""
    return read_claims(FOLDER / "claims.csv")
