"""The parts of the study: measures of a run, and their tolerances."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from dumbbell import metrics
from dumbbell.comparing.format import Format, Key, Measured, Metric, Tolerance
from dumbbell.study.model import Part
from dumbbell_studies.oracle.figures import BOTTLENECK, FLOW, overlay
from dumbbell_studies.oracle.published_runs import SETS, SUMMARY, kernel_runs
from dumbbell_studies.oracle.scenarios import QUICK_NOTE, scenarios

if TYPE_CHECKING:
    from dumbbell.results import Run

SETTLED_S = 10.0
"""Start of the interval of all means, after start-up."""
SAMPLE_S = 0.1
"""Interval of the recorded samples, and hence the resolution of the first drop or mark."""


def measure(runs: Sequence[Run]) -> Measured:
    """Our values by (run, flow, rtt_ms): means over the samples from 10 s on, number of drops or CE marks, time of the first one.

    Marks are counted at the queue. The published numbers count them when they are acknowledged, an RTT later.
    """
    measured: Measured = {}
    for run in runs:
        kernel = kernel_runs().get(str(run.cell.get("run")))
        if kernel is None:
            continue
        signals = run.series(BOTTLENECK, "ce_marks" if kernel.marks else "drops")
        values = {
            "goodput_after10s_mbps": metrics.throughput_mbit(run.series(FLOW, "rx_bytes"), SETTLED_S),
            "rtt_after10s_mean_ms": metrics.mean(run.series(FLOW, "srtt_ms"), SETTLED_S),
            "cwnd_after10s_mean_pkts": metrics.mean(run.series(FLOW, "cwnd"), SETTLED_S),
            "congestion_signals": float(signals[1][-1]),
            "first_signal_s": metrics.first_increase(signals),
        }
        for metric, value in values.items():
            measured.setdefault(((kernel.name, 0.0, kernel.rtt_ms), metric), []).append(value)
    return measured


FORMAT = Format(
    name="oracle",
    columns=("run", "flow", "rtt_ms"),
    keys=("run", "flow", "rtt_ms"),
    numbers=frozenset({"flow", "rtt_ms"}),
    metrics={
        "goodput_after10s_mbps": Metric("Mbit/s", "goodput", Tolerance(relative=0.01)),
        "rtt_after10s_mean_ms": Metric("ms", "mean srtt", Tolerance(relative=0.05)),
        "cwnd_after10s_mean_pkts": Metric("packets", "mean cwnd", Tolerance(relative=0.05)),
        "congestion_signals": Metric("packets", "drops or marks", Tolerance(relative=0.15)),
        "first_signal_s": Metric(
            "s",
            "first of them",
            Tolerance(relative=0.05, absolute=SAMPLE_S, of_column=("rtt_ms", 2e-3)),
            tolerance_note="5 %, two RTTs or a sample",
        ),
    },
    measure=measure,
    all_metrics_bar=0.90,
)


def _in_set(runs: frozenset[str], key: Key) -> bool:
    return key[0] in runs


_TITLES = {
    "main": "reno and cubic on pfifo of 180 packets, pfifo of a BDP and cake, dctcp on cake; 10 and 50 Mbit/s, 20 and 80 ms",
    "dctcp-pfifo": "dctcp with ECN on pfifo, which does not mark",
}

PARTS = tuple(
    Part(
        name=name,
        title=f"Linux 6.12: {_TITLES[name]}",
        formats=(FORMAT,),
        published={FORMAT.name: SUMMARY},
        scenarios=partial(scenarios, runs),
        quick_note=QUICK_NOTE,
        figures={run: partial(overlay, run) for run in runs},
        select=partial(_in_set, frozenset(runs)),
        every_cell=True,
        is_of_kernel=True,
    )
    for name, runs in SETS.items()
)
