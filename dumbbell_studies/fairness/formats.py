"""Format of the report's numbers: elapsed time, and what tcptrace counted in a capture at the sender, by scenario and sender.

Some transfers run with settings that were inferred from the very numbers that are compared. They are counted apart (`_listed`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dumbbell.comparing.format import Format, Key, KeyValue, Measured, Metric, Tolerance
from dumbbell_studies.fairness.hosts import setups
from dumbbell_studies.fairness.transfers import Transfer, transfers

if TYPE_CHECKING:
    from dumbbell.results import Run

ELAPSED, PACKETS, RETRANSMITS = "elapsed_s", "total_packets", "rexmt_data_pkts"
RTT, WINDOW, THROUGHPUT = "rtt_avg_ms", "avg_win_adv_bytes", "throughput_mbps"
QUANTITIES: Mapping[str, Callable[[Transfer], float]] = {
    ELAPSED: lambda each: each.elapsed_s,
    PACKETS: lambda each: each.trace_packets,
    RETRANSMITS: lambda each: each.retransmits,
    RTT: lambda each: each.trace_rtt_ms,
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
_LISTED = "  hosts as listed"
UNEXPLAINED = frozenset((f"Combo{number}", "S2") for number in range(19, 24))
"""Transfers whose settings do not explain them: they take half as long again as that of Combo24, with the same ones."""


def _listed(_theirs: float, key: Mapping[str, KeyValue]) -> bool:
    return not setups()[str(key["scenario"]), str(key["sender"])].inferred


def _explained(theirs: float, key: Mapping[str, KeyValue]) -> bool:
    return _listed(theirs, key) and (key["scenario"], key["sender"]) not in UNEXPLAINED


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
            informative_rule="  as listed, and explained",
            informative_bar=0.75,
        ),
        PACKETS: Metric(unit="", title="Packets of both directions", tolerance=Tolerance(relative=0.02), bar=0.70),
        RETRANSMITS: Metric(
            unit="",
            title="Data packets retransmitted",
            tolerance=Tolerance(relative=0.25, absolute=20),
            informative=_listed,
            informative_rule=_LISTED,
            informative_bar=0.70,
            floor=20,
        ),
        RTT: Metric(unit="ms", title="Mean RTT at the sender's device", tolerance=Tolerance(relative=0.25, absolute=1)),
        WINDOW: Metric(
            unit="bytes",
            title="Mean window advertised",
            tolerance=Tolerance(),
            informative=_listed,
            informative_rule=_LISTED,
            informative_bar=1.0,
        ),
    },
    measure=partial(_measure, None),
)
