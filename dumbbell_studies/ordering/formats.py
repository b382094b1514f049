"""Formats: the page's utilisations, compared as payload and as IP packets; and all metrics of our runs by condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from dumbbell.comparing.format import Format, Key, KeyValue, Measured, Metric, Tolerance
from dumbbell_studies.ordering.conditions import PRINTED
from dumbbell_studies.ordering.controls import PROTOCOLS
from dumbbell_studies.ordering.trials import Trial, trials

if TYPE_CHECKING:
    from dumbbell.results import Run

UTILIZATION = "utilization"
_TOLERANCE = Tolerance(absolute=0.03)
_COLUMNS = ("section", "varied", "level", "level_value", "protocol", UTILIZATION, "runs_listed", "distinct_runs_listed", "run_ids", "note")
MISPRINT = "all others are 0.96 or less"


def _tolerance(key: Mapping[str, KeyValue]) -> Tolerance:
    """That of a protocol; of those that only orderings are judged of, the usual one."""
    found = PROTOCOLS.get(str(key["protocol"]))
    return _TOLERANCE if found is None or found.tolerance is None else Tolerance(absolute=found.tolerance)


def _judged(_theirs: float, key: Mapping[str, KeyValue]) -> bool:
    found = PROTOCOLS.get(str(key["protocol"]))
    return found is not None and found.tolerance is not None


def _fault(key: Key, _metric: str) -> str:
    return MISPRINT if key == (8.0, "32 flows", "FAST") else ""


def _measured(value: Callable[[Trial], float]) -> Callable[[Sequence[Run]], Measured]:
    """Each row of the page, from the runs of its condition: rows of one condition share them."""

    def measure(runs: Sequence[Run]) -> Measured:
        found = trials(runs).own
        return {
            ((section, level, protocol), UTILIZATION): [value(trial) for trial in found[protocol, condition]]
            for (section, level), condition in PRINTED.items()
            for protocol in PROTOCOLS
            if (protocol, condition) in found
        }

    return measure


def _format(name: str, value: Callable[[Trial], float], title: str, bar: float | None) -> Format:
    return Format(
        name=name,
        columns=_COLUMNS,
        keys=("section", "level", "protocol"),
        numbers=frozenset({"section"}),
        metrics={
            UTILIZATION: Metric(
                unit="",
                title=title,
                tolerance=_TOLERANCE,
                tolerance_of=_tolerance,
                tolerance_note="0.03, H-TCP 0.05",
                informative=_judged,
                informative_rule="  BIC, CUBIC, STCP, HSTCP, H-TCP",
                informative_bar=bar,
                centre=fmean,
            )
        },
        measure=_measured(value),
        fault=_fault,
        table_number=lambda key, _metric: int(float(key[0])),
    )


UTILIZATION_FORMAT = _format("ncsu_utilization", lambda trial: trial.utilization, "Link utilisation (payload)", 0.80)
IP_FORMAT = _format("ncsu_utilization_ip", lambda trial: trial.ip_utilization, "Link utilisation (IP packets)", None)

QUANTITIES: Mapping[str, tuple[str, Callable[[Trial], float]]] = {
    UTILIZATION: ("Utilisation", lambda trial: trial.utilization),
    "cov_pta": ("CoV-PTA", lambda trial: trial.cov_pta),
    "cov_ptp": ("CoV-PTP", lambda trial: trial.cov_ptp),
    "queue_cov": ("Queue CoV", lambda trial: trial.queue_cov),
    "utilization_cov": ("Utilisation CoV", lambda trial: trial.utilization_cov),
    "synchronisation": ("Sync index", lambda trial: trial.synchronisation),
    "loss_synchronisation": ("Loss sync", lambda trial: trial.loss_synchronisation),
}
"""Name -> title, and the number of a trial."""


def _stability(runs: Sequence[Run]) -> Measured:
    found: Measured = {}
    for trial in trials(runs).all:
        condition = trial.condition
        where = (condition.rtt, float(condition.buffer_mib), float(condition.flows), condition.background, str(condition.congested).lower())
        key: Key = (trial.mode, trial.experiment or "own", trial.protocol, *where)
        for name, (_, value) in QUANTITIES.items():
            found.setdefault((key, name), []).append(value(trial))
    return found


STABILITY_FORMAT = Format(
    name="ordering_stability",
    columns=("mode", "experiment", "protocol", "rtt_ms", "buffer_mib", "flows", "background", "congested", *QUANTITIES),
    keys=("mode", "experiment", "protocol", "rtt_ms", "buffer_mib", "flows", "background", "congested"),
    numbers=frozenset({"buffer_mib", "flows"}),
    metrics={
        name: Metric(unit="", title=title, tolerance=Tolerance(relative=0.15), centre=fmean) for name, (title, _) in QUANTITIES.items()
    },
    measure=_stability,
)
"""Means over seeds of all metrics, by condition: nothing is published of them, and `dumbbell table --tidy --kind` prints dumbbell's."""
