"""Figures: elapsed times with the published ones, and what became of each transfer over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.drawing.curves import Curve, LevelPanel, level_panels
from dumbbell.drawing.panels import FlowPanel, flow_panels
from dumbbell.metrics import Series, sliding_throughput_mbit
from dumbbell.study.model import View
from dumbbell_studies.fairness.hosts import CONTROLS, scenario_names, senders
from dumbbell_studies.fairness.published import transfers as published
from dumbbell_studies.fairness.transfers import Transfer, transfers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dumbbell.results import Run

_SEGMENT_KB = 1.448
_WINDOW_S = 1.0
_LABELS = ("S1", "S2")
_TOGETHER = 3
"""Scenarios in a figure over time: those of one delay, which differ in the first sender's control."""


def _throughput(run: Run, sender: str) -> Series:
    return sliding_throughput_mbit(run.series(f"flow/{sender}", "rx_bytes"), _WINDOW_S, _WINDOW_S / 2)


def _sequence(run: Run, sender: str) -> Series:
    times, received = run.series(f"flow/{sender}", "rx_bytes")
    return times, received / 1e6


def _window(run: Run, sender: str) -> Series:
    times, cwnd = run.series(f"flow/{sender}", "cwnd")
    return times, cwnd * _SEGMENT_KB


def _rtt(run: Run, sender: str) -> Series:
    return run.series(f"flow/{sender}", "srtt_ms")


QUANTITIES: Mapping[str, Callable[[Run, str], Series]] = {
    "read (MB)": _sequence,
    "throughput, 1 s (Mbit/s)": _throughput,
    "congestion window (kB)": _window,
    "smoothed RTT (ms)": _rtt,
}
"""Label -> series of a transfer."""


def over_time(names: Sequence[str], runs: Sequence[Run], view: View) -> Figure:
    """Data read, throughput, window and RTT of the first run of some scenarios, one a row."""
    grid = []
    for name in names:
        run = next((run for run in runs if run.cell.get("scenario") == name and "experiment" not in run.cell), None)
        present = [] if run is None else [(run, sender) for sender in senders(name)]
        first = senders(name)["S1"]
        title = f"{name}: {first.cc}, {first.delay_ms:g} ms"
        grid.append([FlowPanel(title, quantity, [series(*each) for each in present], top=0.0) for quantity, series in QUANTITIES.items()])
    return flow_panels(f"{names[0]} to {names[-1]}", grid, _LABELS, view.size, view.start_s, view.stop_s)


def elapsed(runs: Sequence[Run], view: View) -> Figure:
    """Elapsed times of every transfer, on a logarithmic scale: dumbbell's, over all seeds, and published."""
    found = transfers(runs)
    grid = []
    for title, names in _PARTS.items():
        there = {sender: [name for name in names if found.has(name) and sender in senders(name)] for sender in _LABELS}
        grid.append([_panel(f"{title}, {sender}", wanted, sender, found.of) for sender, wanted in there.items() if wanted])
    return level_panels("Elapsed time of 100 MiB", [row for row in grid if row] or [[LevelPanel("no run", "", (), ())]], view.size)


def _panel(title: str, names: Sequence[str], sender: str, of: Callable[[str, str], Sequence[Transfer]]) -> LevelPanel:
    curves = []
    for cc, control in CONTROLS.items():
        repeats = [of(name, sender) if senders(name)[sender].cc == cc else () for name in names]
        if not any(repeats):
            continue
        values = [[each.elapsed_s for each in several] for several in repeats]
        middles = [float(np.median(several)) if len(several) else np.nan for several in values]
        lows, highs = ([float(bound(several)) if len(several) else np.nan for several in values] for bound in (np.min, np.max))
        theirs = [published()[name, sender].elapsed_s if several else np.nan for name, several in zip(names, repeats, strict=True)]
        curves.append(Curve(cc, control.style, middles, lows, highs, theirs))
    levels = [name.replace("Baseline", "B").replace("Combo", "C") for name in names]
    return LevelPanel(title, "elapsed time (s)", levels, curves, x="scenario", logarithmic=True)


_PARTS: Mapping[str, Sequence[str]] = {
    "one at a time": scenario_names()[:8],
    "two": scenario_names()[8:20],
    "two, an outage": scenario_names()[20:],
}
_OVER_TIME = [scenario_names()[:4], scenario_names()[4:8]] + [
    scenario_names()[i : i + _TOGETHER] for i in range(8, len(scenario_names()), _TOGETHER)
]
FIGURES: Mapping[str, Callable[[Sequence[Run], View], Figure]] = {
    "elapsed": elapsed,
    **{
        f"{names[0].lower()}-to-{names[-1].removeprefix('Baseline').removeprefix('Combo')}": partial(over_time, names)
        for names in _OVER_TIME
    },
}
