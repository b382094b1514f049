"""Figures 2 to 14 of the report: throughput over time, windows and RTT of three flows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from dumbbell.drawing.panels import FlowPanel, flow_panels
from dumbbell.metrics import Series
from dumbbell.study.model import View
from dumbbell_studies.teacup.published import Experiment, PublishedPanel, flow_labels, panels
from dumbbell_studies.teacup.scenarios import QDISCS, RTTS_MS, SENDERS, TAIL_DROP_LIMIT
from dumbbell_studies.teacup.trials import STEPS_S, Trial, run_of, trial_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dumbbell.results import Run


@dataclass(frozen=True)
class Quantity:
    """A quantity that a panel shows, by flow."""

    label: str
    series: Callable[[Trial], list[Series]]
    form: Literal["line", "points"] = "line"


QUANTITIES: Mapping[str, Quantity] = {
    "throughput": Quantity("throughput, 2 s (kbit/s)", lambda trial: [(STEPS_S, 1000 * rates) for rates in trial.thr2]),
    "cwnd": Quantity("cwnd (kB)", lambda trial: [flow.cwnd_kb for flow in trial.flows]),
    "rtt": Quantity("SPP RTT (ms)", lambda trial: [flow.rtt_ms for flow in trial.flows], "points"),
}
RTTS: Mapping[str, Callable[[Trial], list[Series]]] = {
    "by packet pairs (SPP)": lambda trial: [flow.rtt_ms for flow in trial.flows],
    "the senders' own samples": lambda trial: [flow.sender_rtt_ms for flow in trial.flows],
}


def report_figure(number: int, runs: Sequence[Run], view: View) -> Figure:
    """One figure of the report, drawn from our runs in the layout of the report."""
    published = [panel for panel in panels() if panel.figure == number]
    trials: dict[tuple[Experiment, int], Trial | None] = {}
    drawn = []
    for panel in published:
        key = (panel.experiment, panel.run)
        if key not in trials:
            run = run_of(runs, panel.experiment, panel.run + 1)
            trials[key] = None if run is None else trial_of(run)
        drawn.append(_panel(panel, trials[key], alone=len(published) == 1))
    columns = 2 if len(drawn) % 2 == 0 else 1
    grid = [drawn[first : first + columns] for first in range(0, len(drawn), columns)]
    stop_s = view.stop_s if math.isfinite(view.stop_s) else max(panel.stop_s for panel in published)
    return flow_panels(_title(number, published), grid, flow_labels(), view.size, view.start_s, stop_s)


def two_rtts(cc: str, rtt_ms: float, runs: Sequence[Run], view: View) -> Figure:
    """RTT of the first runs, by packet pairs as in the report and as the senders measure it. One row per queue discipline."""
    grid = []
    for qdisc in QDISCS:
        run = run_of(runs, Experiment(cc, qdisc, rtt_ms, TAIL_DROP_LIMIT), 1)
        trial = None if run is None else trial_of(run)
        grid.append(
            [FlowPanel(f"{qdisc}, {method}", "RTT (ms)", series(trial) if trial else (), form="points") for method, series in RTTS.items()]
        )
    return flow_panels(f"RTT measured in two ways: {cc}, base RTT {rtt_ms:g} ms", grid, flow_labels(), view.size, view.start_s, view.stop_s)


FIGURES: Mapping[str, Callable[[Sequence[Run], View], Figure]] = {
    **{f"figure-{number}": partial(report_figure, number) for number, _ in groupby(panels(), key=lambda panel: panel.figure)},
    **{f"rtt-{cc}-{rtt_ms:g}ms": partial(two_rtts, cc, rtt_ms) for cc in SENDERS for rtt_ms in RTTS_MS},
}


def _panel(panel: PublishedPanel, trial: Trial | None, alone: bool) -> FlowPanel:
    quantity, experiment = QUANTITIES[panel.metric], panel.experiment
    text = f"{experiment.qdisc}, {experiment.limit_packets} packets, run {panel.run}"
    return FlowPanel(
        title=text if alone else f"({panel.letter}) {text}",
        quantity=quantity.label,
        flows=quantity.series(trial) if trial else (),
        top=panel.top,
        form=quantity.form,
    )


def _title(number: int, published: Sequence[PublishedPanel]) -> str:
    experiment = published[0].experiment
    return f"Figure {number}: {experiment.cc}, base RTT {experiment.rtt_ms:g} ms"
