"""The recorded runs of the kernel."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.metrics import Series

if TYPE_CHECKING:
    import polars as pl

SUMMARY = Path(__file__).parent / "published" / "summary.csv"
_SERIES = Path(__file__).parent / "published" / "series.parquet"
_PATHS = ("10m_20ms", "10m_80ms", "50m_20ms", "50m_80ms")


def _names(ccs: Sequence[str], queues: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{cc}_{path}_{queue}" for queue in queues for cc in ccs for path in _PATHS)


SETS: Mapping[str, tuple[str, ...]] = {
    "main": _names(("reno", "cubic"), ("pfifo180", "pfifobdp", "cakefb")) + _names(("dctcp",), ("cakefb",)),
    "dctcp-pfifo": _names(("dctcp",), ("pfifo180", "pfifobdp")),
}
"""Name of a part -> names of its runs."""


@dataclass(frozen=True)
class KernelRun:
    """The settings of a recorded run."""

    name: str
    cc: str
    rate_mbit: float
    rtt_ms: float
    queue: str
    """pfifo or cake (flowblind)."""
    limit_packets: int
    """Limit of pfifo; 0 for cake."""
    ecn: bool

    @property
    def marks(self) -> bool:
        """True if the queue signals congestion by CE marks and not by drops."""
        return self.ecn and self.queue == "cake"


@cache
def kernel_runs() -> Mapping[str, KernelRun]:
    """All recorded runs, by name."""
    with SUMMARY.open(newline="", encoding="utf-8") as file:
        return {
            row["run"]: KernelRun(
                row["run"],
                row["cc"],
                float(row["rate_mbit"]),
                float(row["rtt_ms"]),
                row["queue"],
                int(row["qlimit_pkts"]),
                row["ecn"] == "1",
            )
            for row in csv.DictReader(file)
        }


def kernel_series(run: str, column: str) -> Series:
    """A column of the samples of a run in the simulator's units: times (s) and values, NaN where there is no value."""
    frame = _samples().get(run)
    if frame is None:
        raise KeyError(f"no recorded run {run!r}")
    values = frame["srtt_us"] / 1000 if column == "srtt_ms" else frame[column]
    return frame["t_s"].to_numpy(), values.cast(float).fill_null(np.nan).to_numpy()


@cache
def _samples() -> Mapping[str, pl.DataFrame]:
    import polars as pl

    return {str(name[0]): frame for name, frame in pl.read_parquet(_SERIES).partition_by("run", as_dict=True).items()}
