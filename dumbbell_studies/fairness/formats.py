"""Format of the report's numbers: elapsed time, packets sent again and windows advertised, by scenario and sender."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dumbbell.comparing.format import Format, Key, KeyValue, Measured, Metric, Tolerance
from dumbbell_studies.fairness.transfers import Transfer, transfers

if TYPE_CHECKING:
    from dumbbell.results import Run

ELAPSED, RETRANSMITS, WINDOW, THROUGHPUT = "elapsed_s", "rexmt_data_pkts", "avg_win_adv_bytes", "throughput_mbps"
QUANTITIES: Mapping[str, Callable[[Transfer], float]] = {
    ELAPSED: lambda each: each.elapsed_s,
    RETRANSMITS: lambda each: each.retransmits,
    WINDOW: lambda each: each.window_bytes,
}
"""Column -> the number of a transfer."""
_COLUMNS = (
    "scenario",
    "group",
    "sender",
    "cc",
    "competing_cc",
    "own_fixed_delay_ms",
    "s1_fixed_delay_ms",
    "s2_fixed_delay_ms",
    "forced_drop_ms",
    "page",
    "log_name",
    "elapsed_hms",
    "elapsed_s",
    "total_packets",
    "avg_win_adv_bytes",
    "throughput_Bps",
    "throughput_mbps",
    "rtt_avg_ms",
    "rexmt_data_pkts",
    "throughput_mbps_from_Bps",
    "mbps_check",
    "Bps_from_100MiB_over_elapsed",
    "Bps_minus_that",
    "note",
)
UNEXPLAINED = frozenset((f"Combo{number}", "S2") for number in range(19, 24))
"""Transfers whose settings do not explain them: they take half as long again as that of Combo24, with the same ones."""


def _explained(_theirs: float, key: Mapping[str, KeyValue]) -> bool:
    return (key["scenario"], key["sender"]) not in UNEXPLAINED


def _measure(mode: str | None, runs: Sequence[Run]) -> Measured:
    found: Measured = {}
    evidence = transfers(runs)
    for each in evidence.all:
        if not each.experiment and each.mode == (mode or evidence.mode):
            key: Key = (each.scenario, each.sender)
            for name, value in QUANTITIES.items():
                found.setdefault((key, name), []).append(value(each))
    return found


FORMAT = Format(
    name="alberta_runs",
    columns=_COLUMNS,
    keys=("scenario", "sender"),
    numbers=frozenset(),
    metrics={
        ELAPSED: Metric(
            unit="s",
            title="Elapsed time",
            tolerance=Tolerance(relative=0.10),
            informative=_explained,
            informative_rule="  those that are explained",
            informative_bar=0.75,
        ),
        RETRANSMITS: Metric(unit="", title="Data packets sent again", tolerance=Tolerance(relative=0.25, absolute=20), bar=0.70, floor=20),
        WINDOW: Metric(unit="bytes", title="Mean window advertised", tolerance=Tolerance(), bar=1.0),
    },
    measure=partial(_measure, None),
)
