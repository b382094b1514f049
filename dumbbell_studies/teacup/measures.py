"""The measures of a trial, one number each. They are tabulated, and compared with those of another folder of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dumbbell import metrics
from dumbbell.comparing.format import Format, Measured, Metric, Tolerance
from dumbbell.comparing.tables import Table
from dumbbell_studies.teacup.trials import EPOCHS_S, SETTLED_S, Trial, trials

if TYPE_CHECKING:
    from dumbbell.results import Run

KEYS = ("cc", "qdisc", "rtt_ms", "limit_packets")


@dataclass(frozen=True)
class Measure:
    """One number of a trial."""

    metric: Metric
    compute: Callable[[Trial], float]
    decimals: int


def _over_base(q: float) -> Callable[[Trial], float]:
    return lambda trial: float(np.percentile(trial.rtt(SETTLED_S), q)) - trial.experiment.rtt_ms


# Throughput is the sum over flows from 2 to 98 s. Queueing is the RTT minus the base RTT, without the 5 s after each start.
_RTT = Tolerance(relative=0.15, absolute=2.0)
MEASURES: Mapping[str, Measure] = {
    "throughput_mbit": Measure(Metric("Mbit/s", "throughput", Tolerance(relative=0.05)), lambda t: t.agg_thr(2, 98), 3),
    "jain2": Measure(Metric("", "jain2", Tolerance(absolute=0.05)), lambda t: float(np.nanmean(t.jain2())), 3),
    "jain_worst": Measure(
        Metric("", "jain, worst epoch", Tolerance(absolute=0.05)), lambda t: min(t.jain(*epoch) for epoch in EPOCHS_S), 3
    ),
    "cov": Measure(Metric("", "CoV", Tolerance(absolute=0.05)), lambda t: float(np.mean(t.covs())), 3),
    "queueing_p5_ms": Measure(Metric("ms", "queueing p5", _RTT), _over_base(5), 1),
    "queueing_p50_ms": Measure(Metric("ms", "queueing p50", _RTT), _over_base(50), 1),
    "queueing_p95_ms": Measure(Metric("ms", "queueing p95", _RTT), _over_base(95), 1),
    "fair_share_2_s": Measure(Metric("s", "flow 2 fair after", Tolerance(relative=0.5)), lambda t: t.time_to_fair_share_s(2), 1),
    "fair_share_3_s": Measure(Metric("s", "flow 3 fair after", Tolerance(relative=0.5)), lambda t: t.time_to_fair_share_s(3), 1),
}


def measure_all(runs: Sequence[Run]) -> Measured:
    """All measures of each experiment, one value per seed."""
    return {
        ((each.cc, each.qdisc, each.rtt_ms, float(each.limit_packets)), name): [measure.compute(trial) for trial in repeats]
        for each, repeats in trials(runs).experiments.items()
        for name, measure in MEASURES.items()
    }


FORMAT = Format(
    name="teacup",
    columns=(*KEYS, "metric", "value"),
    keys=KEYS,
    numbers=frozenset({"rtt_ms", "limit_packets"}),
    metrics={name: each.metric for name, each in MEASURES.items()},
    measure=measure_all,
)


def summaries(runs: Sequence[Run]) -> dict[str, Table]:
    """`summary`: one row per experiment, means and half of their 95 % confidence intervals. `intervals`: one row per measure."""
    wide, long = [], []
    for each, repeats in sorted(trials(runs).experiments.items()):
        coordinates = [each.cc, each.qdisc, f"{each.rtt_ms:g}", str(each.limit_packets)]
        texts = []
        for name, measure in MEASURES.items():
            values = [value for value in map(measure.compute, repeats) if np.isfinite(value)]
            centre, low, high = _interval(values)
            texts.append(_text(centre, high - centre, measure.decimals))
            long.append([*coordinates, name, str(len(values)), _number(centre), _number(low), _number(high)])
        wide.append([*coordinates, str(len(repeats)), *texts])
    heads = [f"{each.metric.title} ({each.metric.unit})" if each.metric.unit else each.metric.title for each in MEASURES.values()]
    return {
        "summary": Table("Means over seeds ± half of the 95 % confidence interval", [*KEYS, "runs", *heads], wide),
        "intervals": Table("Means over seeds and their 95 % confidence limits", [*KEYS, "metric", "runs", "mean", "low", "high"], long),
    }


def _interval(values: Sequence[float]) -> tuple[float, float, float]:
    if not values:
        return (float("nan"),) * 3
    if len(set(values)) == 1 and len(values) > 1:
        return values[0], values[0], values[0]
    return metrics.confidence_interval(values)


def _text(centre: float, half: float, decimals: int) -> str:
    if np.isnan(centre):
        return ""
    return f"{centre:.{decimals}f}±{half:.{decimals}f}" if np.isfinite(half) else f"{centre:.{decimals}f}"


def _number(value: float) -> str:
    return f"{value:.6g}" if np.isfinite(value) else ""
