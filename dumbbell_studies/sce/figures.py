"""The one-flow figures: heat maps of our values, the published ones and their difference, and the saw-tooth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.comparing.difference import Cell
from dumbbell.drawing import style
from dumbbell.drawing.heatmap import Axis, Grid, Scale, heatmaps
from dumbbell.drawing.timeline import Line, Panel, timeline
from dumbbell.study.model import View
from dumbbell_studies.sce import reductions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dumbbell.results import Run

_ROWS = Axis("bandwidth (Mbit/s)", reductions.BANDWIDTHS_MBIT)
_COLUMNS = Axis("delay (ms)", reductions.DELAYS_MS)
_OURS = {
    reductions.THROUGHPUT: Scale("throughput / bandwidth (%)", 20, 100, "viridis"),
    reductions.RTT: Scale("RTT above the delay (ms)", 0.5, 150, "magma_r", logarithmic=True),
}
_ERROR = {
    reductions.THROUGHPUT: Scale("dumbbell - published (% of bandwidth)", -12, 12, "RdBu_r"),
    reductions.RTT: Scale("dumbbell - published (% of published)", -25, 25, "RdBu_r"),
}
_NAMES = {reductions.THROUGHPUT: "throughput (Mbit/s)", reductions.RTT: "mean RTT (ms)"}
_FRAMED = "Framed: outside the tolerance (3 % of the bandwidth; the greater of 10 % and 1 ms).  Dots: not published here, or no run."
SAWTOOTH = (50.0, 80.0)
"""Grid point of the saw-tooth figure: bandwidth (Mbit/s) and delay (ms)."""


def heatmap(cc: str, runs: Sequence[Run], view: View) -> Figure:
    """Throughput and RTT of one congestion control over bandwidth and delay: dumbbell's, published, difference."""
    ours, theirs, cells = _values(runs)
    panels = [
        [
            _absolute("dumbbell", cc, metric, ours),
            _absolute("published", cc, metric, theirs),
            _difference(_ERROR[metric].label, cc, metric, cells),
        ]
        for metric in (reductions.THROUGHPUT, reductions.RTT)
    ]
    return heatmaps(f"{cc}: throughput and RTT of one flow through Cake with SCE", _FRAMED, panels, _ROWS, _COLUMNS, view.size)


def agreement(runs: Sequence[Run], view: View) -> Figure:
    """The differences of all congestion controls side by side."""
    _, _, cells = _values(runs)
    panels = [[_difference(cc, cc, metric, cells) for cc in reductions.CCS] for metric in (reductions.THROUGHPUT, reductions.RTT)]
    return heatmaps(
        "dumbbell - published, one flow through Cake with SCE: throughput (above), RTT (below)", _FRAMED, panels, _ROWS, _COLUMNS, view.size
    )


def sawtooth(runs: Sequence[Run], view: View) -> Figure:
    """Window, RTT and queue of reno and reno-sce at 50 Mbit/s, 80 ms."""
    chosen: dict[str, Run] = {}
    for run in runs:
        cell = reductions.cell_of(run)
        if cell is not None and cell[1:] == SAWTOOTH and cell[0] in ("reno", "reno-sce"):
            chosen.setdefault(cell[0], run)

    def lines(series: Callable[[Run], tuple[str, str]]) -> list[Line]:
        return [Line(cc, run.series(*series(run)), style.colour(cc)) for cc, run in sorted(chosen.items())]

    panels = [
        Panel("cwnd (packets)", lines(lambda run: (reductions.flow_of(run), "cwnd"))),
        Panel("RTT (ms)", lines(lambda run: (reductions.flow_of(run), "srtt_ms")), mark=SAWTOOTH[1], from_zero=False),
        Panel("backlog (packets)", lines(lambda _run: (reductions.BOTTLENECK, "backlog_packets"))),
    ]
    title = f"The saw-tooth at {SAWTOOTH[0]:g} Mbit/s, {SAWTOOTH[1]:g} ms: Reno halves, Reno-SCE trims"
    return timeline(title, panels, view.size, view.start_s, view.stop_s)


FIGURES: Mapping[str, Callable[[Sequence[Run], View], Figure]] = {
    "agreement": agreement,
    **{f"heatmap-{cc}": partial(heatmap, cc) for cc in reductions.CCS},
    "sawtooth": sawtooth,
}


def _values(
    runs: Sequence[Run],
) -> tuple[dict[tuple[str, str], dict[reductions.GridPoint, float]], dict[tuple[str, str], dict[reductions.GridPoint, float]], list[Cell]]:
    """Our and the published values by (cc, metric) and grid point, and the compared cells."""
    from dumbbell.comparing.difference import difference
    from dumbbell_studies.sce.one_flow import ONE_FLOW

    measured = reductions.one_flow(runs)
    reference = ONE_FLOW.reference()
    ours: dict[tuple[str, str], dict[reductions.GridPoint, float]] = {}
    theirs: dict[tuple[str, str], dict[reductions.GridPoint, float]] = {}
    for ((cc, bandwidth, delay), metric), values in measured.items():
        ours.setdefault((str(cc), metric), {})[float(bandwidth), float(delay)] = float(np.median(values))
    for item in reference.values:
        cc, bandwidth, delay = item.key
        theirs.setdefault((str(cc), item.metric), {})[float(bandwidth), float(delay)] = item.value
    return ours, theirs, difference(measured, reference.values, reference.format).cells


def _absolute(title: str, cc: str, metric: str, values: Mapping[tuple[str, str], Mapping[reductions.GridPoint, float]]) -> Grid:
    found = values.get((cc, metric), {})
    shade = {cell: 100 * value / cell[0] if metric == reductions.THROUGHPUT else value - cell[1] for cell, value in found.items()}
    return Grid(f"{_NAMES[metric]}, {title}", shade, {cell: _short(value) for cell, value in found.items()}, _OURS[metric])


def _difference(title: str, cc: str, metric: str, cells: Sequence[Cell]) -> Grid:
    shade: dict[reductions.GridPoint, float] = {}
    outside: set[reductions.GridPoint] = set()
    for cell in cells:
        if cell.metric != metric or cell.key["cc"] != cc:
            continue
        point = (float(cell.key["bandwidth_mbit"]), float(cell.key["delay_ms"]))
        shade[point] = 100 * cell.error / (point[0] if metric == reductions.THROUGHPUT else cell.theirs)
        if not cell.within:
            outside.add(point)
    return Grid(
        title,
        shade,
        {cell: f"{value:+.1f}" if abs(value) < 9.95 else f"{value:+.0f}" for cell, value in shade.items()},
        _ERROR[metric],
        frozenset(outside),
    )


def _short(value: float) -> str:
    """The value in at most four characters."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"
