"""The next steps that the report names, as experiments: ECN, other parameters of PIE and fq_codel, asymmetric rates and delays.

Each experiment is one of the report's trials with one change, and is compared with the trial without the change. The report prints nothing
of them, so that there is nothing to agree with: the table says what the change does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.comparing.tables import Table
from dumbbell.results.runs import Runs
from dumbbell.study.model import Request
from dumbbell.study.repeats import repeats
from dumbbell_studies.teacup.measures import MEASURES
from dumbbell_studies.teacup.published import Experiment
from dumbbell_studies.teacup.scenarios import AQMS, OPEN_RATE, QDISCS, RATE, RTTS_MS, SENDERS, TAIL_DROP_LIMIT, cell, document, for_hosts
from dumbbell_studies.teacup.trials import CHANGE, Trial, trial_of

if TYPE_CHECKING:
    from dumbbell.results import Run
    from dumbbell.scenario import ResolvedScenario

SEEDS = 3
QUICK_NOTE = "2 seeds unless --seeds says otherwise, at 20 ms"
NONE = "none"
"""The trial as the report ran it."""


@dataclass(frozen=True)
class Change:
    """A change of a trial, and the queue disciplines that have it."""

    qdiscs: Sequence[str]
    apply: Callable[[dict[str, Any], Experiment], None]


def _later_pie(given: dict[str, Any], _experiment: Experiment) -> None:
    qdisc = given["path"]["bottleneck"]["qdisc"]
    qdisc["variant"] = "linux-6.12"
    del qdisc["hz"]


def _ecn(given: dict[str, Any], experiment: Experiment) -> None:
    """PIE of 2013 does not mark: that of Linux 6.12, with the same parameters, does."""
    if experiment.qdisc == "pie":
        _later_pie(given, experiment)
    given["path"]["bottleneck"]["qdisc"]["ecn"] = True
    for flow in given["flows"]:
        flow["ecn"] = True


def _tuned(**parameters: Any) -> Callable[[dict[str, Any], Experiment], None]:
    def apply(given: dict[str, Any], _experiment: Experiment) -> None:
        given["path"]["bottleneck"]["qdisc"].update(parameters)

    return apply


def _stages(given: dict[str, Any], experiment: Experiment, ack_rate: str = RATE, forward: float = 0.5) -> None:
    """Writes the path as stages, so that its directions may differ."""
    queue = given["path"]["bottleneck"]

    def delay(share: float) -> dict[str, Any]:
        return {"name": "delay", "delay": f"{experiment.rtt_ms * share:g}ms", "limit": "1000p"}

    given["path"] = {
        "forward": [{"name": "access", "rate": OPEN_RATE}, {"name": "bottleneck", **queue}, delay(forward)],
        "reverse": [{"name": "bottleneck", **queue, "rate": ack_rate}, delay(1 - forward)],
    }


def _acks_over(rate: str) -> Callable[[dict[str, Any], Experiment], None]:
    return lambda given, experiment: _stages(given, experiment, ack_rate=rate)


def _delay_before(share: float) -> Callable[[dict[str, Any], Experiment], None]:
    return lambda given, experiment: _stages(given, experiment, forward=share)


def _second_flow_further(given: dict[str, Any], experiment: Experiment) -> None:
    given["flows"][1]["rtt"] = f"{4 * experiment.rtt_ms:g}ms"


_ALL = tuple(QDISCS)
CHANGES: Mapping[str, Change] = {
    NONE: Change(_ALL, lambda _given, _experiment: None),
    "PIE of Linux 6.12": Change(["pie"], _later_pie),
    "ECN": Change(AQMS, _ecn),
    "target 5 ms": Change(["pie"], _tuned(target="5ms")),
    "target 40 ms": Change(["pie", "fq_codel"], _tuned(target="40ms")),
    "tupdate 15 ms": Change(["pie"], _tuned(tupdate="15ms")),
    "alpha 1, beta 10": Change(["pie"], _tuned(alpha=1, beta=10)),
    "alpha 4, beta 32": Change(["pie"], _tuned(alpha=4, beta=32)),
    "target 2 ms": Change(["fq_codel"], _tuned(target="2ms")),
    "target 10 ms, interval 200 ms": Change(["fq_codel"], _tuned(target="10ms", interval="200ms")),
    "quantum 300": Change(["fq_codel"], _tuned(quantum="300B")),
    "one queue": Change(["fq_codel"], _tuned(flows=1)),
    "ACKs over 1 Mbit/s": Change(_ALL, _acks_over("1mbit")),
    "ACKs over 128 kbit/s": Change(_ALL, _acks_over("128kbit")),
    "nine tenths of the delay behind the queue": Change(_ALL, _delay_before(0.9)),
    "a tenth of the delay behind the queue": Change(_ALL, _delay_before(0.1)),
    "flow 2 with four times the RTT": Change(_ALL, _second_flow_further),
}
"""Every change by its name."""


def experiments() -> Iterator[tuple[Experiment, str]]:
    """Each trial with each change that its queue discipline has."""
    for cc, rtt_ms, (name, change) in itertools.product(SENDERS, RTTS_MS, CHANGES.items()):
        for qdisc in change.qdiscs:
            yield Experiment(cc, qdisc, rtt_ms, TAIL_DROP_LIMIT), name


def changed(experiment: Experiment, change: str) -> dict[str, Any]:
    """The scenario of a trial with a change."""
    given = document(experiment)
    CHANGES[change].apply(given, experiment)
    return given


def scenarios(request: Request) -> list[ResolvedScenario]:
    """The requested runs."""
    found = []
    for experiment, change in experiments():
        if request.quick and experiment.rtt_ms != RTTS_MS[0]:
            continue
        place = {**cell(experiment), CHANGE: change}
        found += repeats(changed(experiment, change), place, for_hosts(request, experiment.cc))
    return found


def summaries(runs: Sequence[Run]) -> dict[str, Table]:
    """`summary`: a row for each experiment, with means over its seeds and the differences from the trial without the change."""
    found: dict[tuple[Experiment, str], list[Trial]] = {}
    for run in runs if isinstance(runs, Runs) else Runs(runs):
        trial = trial_of(run, changed=True)
        if trial is not None:
            found.setdefault((trial.experiment, str(run.cell[CHANGE])), []).append(trial)
    means = {key: {name: _mean(measure.compute, repeats) for name, measure in MEASURES.items()} for key, repeats in found.items()}
    heads = ["change", "cc", "qdisc", "rtt_ms", "runs", "goodput (Mbit/s)", "jain2", "queueing p50 (ms)", "queueing p95 (ms)"]
    heads += ["goodput, times that without", "queueing p95, less that without (ms)"]
    rows = []
    order = {name: place for place, name in enumerate(CHANGES)}
    for key in sorted(found, key=lambda each: (order.get(each[1], len(order)), each[0])):
        experiment, change = key
        mine, base = means[key], means.get((experiment, NONE))
        row = [change, experiment.cc, experiment.qdisc, f"{experiment.rtt_ms:g}", str(len(found[key]))]
        row += [
            f"{mine['throughput_mbit']:.3f}",
            f"{mine['jain2']:.3f}",
            f"{mine['queueing_p50_ms']:.1f}",
            f"{mine['queueing_p95_ms']:.1f}",
        ]
        if change == NONE or base is None:
            row += ["", ""]
        else:
            row += [f"{mine['throughput_mbit'] / base['throughput_mbit']:.3f}", f"{mine['queueing_p95_ms'] - base['queueing_p95_ms']:+.1f}"]
        rows.append(row)
    return {"summary": Table("Trials with one change, and without", heads, rows)}


def _mean(measure: Callable[[Trial], float], repeats: Sequence[Trial]) -> float:
    return float(np.mean([measure(trial) for trial in repeats]))
