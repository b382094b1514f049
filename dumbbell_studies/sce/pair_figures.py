"""The two-flow figures: heat maps of fairness, and the flows' shares of a cell over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from dumbbell import metrics
from dumbbell.comparing.reference import read_reference
from dumbbell.drawing import style
from dumbbell.drawing.heatmap import Axis, Grid, Scale, heatmaps
from dumbbell.drawing.timeline import Line, Panel, timeline
from dumbbell.study.model import View
from dumbbell_studies.sce import pairs, reductions
from dumbbell_studies.sce.formats import JAIN_FORMAT, TWO_FLOW_FORMAT
from dumbbell_studies.sce.published import FOLDER

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dumbbell.results import Run

ROWS = Axis("bandwidth (Mbit/s)", pairs.BANDWIDTHS_MBIT)
COLUMNS = Axis("delay (ms)", pairs.DELAYS_MS)
INDEX = Scale("Jain's index", 0.5, 1.0, "viridis")
_SHARE = Scale("share of the first flow (%)", 0, 100, "RdBu_r")
_FRAMED = "Framed: more than 0.05 from the index of the published throughputs.  Dots: no run."
_PANELS_PER_ROW = 5
"""Panels in a row of a queue mode's figure, if their number is a multiple of it."""
SHARE_WINDOW_S = 2.0
_STEP_S = 0.5


def by_mode(mode: str, cc_pairs: Sequence[tuple[str, str]], runs: Sequence[Run], view: View) -> Figure:
    """Jain's index of every pair in one queue mode."""
    grids = [index_grid(", ".join(ccs), mode, ccs, runs) for ccs in cc_pairs]
    width = _PANELS_PER_ROW if len(grids) % _PANELS_PER_ROW == 0 else 3
    panels = [grids[first : first + width] for first in range(0, len(grids), width)]
    return heatmaps(f"Jain's index of two flows, {mode}", _FRAMED, panels, ROWS, COLUMNS, view.size)


def by_pair(ccs: tuple[str, str], runs: Sequence[Run], view: View) -> Figure:
    """Jain's index of one pair in the three queue modes, dumbbell's and (if there is one) published, and the first flow's share."""
    published = [_grid(f"published, {mode}", _published_index(mode, ccs), INDEX) for mode in pairs.QUEUE_MODES]
    panels = [
        [index_grid(f"dumbbell, {mode}", mode, ccs, runs) for mode in pairs.QUEUE_MODES],
        *([published] if any(grid.shade for grid in published) else []),
        [
            _grid(f"share of the first flow, {ccs[0]}", _medians(mode, ccs, runs, lambda run: 100 * run.shares[0]), _SHARE, decimals=0)
            for mode in pairs.QUEUE_MODES
        ],
    ]
    return heatmaps(f"Fairness of {ccs[0]} and {ccs[1]}", _FRAMED, panels, ROWS, COLUMNS, view.size)


def share_over_time(cell: pairs.PairCell, run: Run, view: View) -> Figure:
    """Two flows over time: share of the throughput in intervals of 2 s, cwnd, RTT."""
    flows = [f"flow/{name}" for name in pairs.FLOWS]
    labels = [f"{cc} ({name})" if cell.cc1 == cell.cc2 else cc for cc, name in zip(cell.ccs, pairs.FLOWS, strict=True)]
    styles = list(zip(labels, flows, style.colours(cell.ccs), strict=True))
    received = [run.series(flow, "rx_bytes") for flow in flows]
    ends = np.arange(SHARE_WINDOW_S, max(float(series[0][-1]) for series in received) + _STEP_S / 2, _STEP_S)
    rates = np.stack([metrics.window_throughput_mbit(series, SHARE_WINDOW_S, ends) for series in received])
    shares = 100 * np.divide(rates, rates.sum(axis=0), out=np.full(rates.shape, np.nan), where=rates.sum(axis=0) > 0)

    def lines(series: str) -> list[Line]:
        return [Line(label, run.series(flow, series), colour) for label, flow, colour in styles]

    panels = [
        Panel(
            f"share in {SHARE_WINDOW_S:g} s (%)",
            [Line(label, (ends, share), colour) for (label, _, colour), share in zip(styles, shares, strict=True)],
            mark=50.0,
        ),
        Panel("cwnd (packets)", lines("cwnd")),
        Panel("RTT (ms)", lines("srtt_ms"), from_zero=False),
    ]
    where = f"{cell.bandwidth_mbit:g} Mbit/s, {cell.delay_ms:g} ms, {cell.queue_mode}"
    return timeline(f"{cell.cc1} and {cell.cc2}: {where}", panels, view.size, view.start_s, view.stop_s)


def cell_figures(runs: Sequence[Run]) -> Mapping[str, Callable[[View], Figure]]:
    """A figure of shares over time for the first run of each cell."""
    found: dict[str, Callable[[View], Figure]] = {}
    for run in runs:
        cell = pairs.pair_cell_of(run)
        if cell is not None:
            name = f"share-{'-'.join(cell.ccs)}-{_slug(cell.queue_mode)}-{cell.bandwidth_mbit:g}mbit-{cell.delay_ms:g}ms"
            found.setdefault(name, partial(share_over_time, cell, run))
    return found


def fairness_figures(cc_pairs: Sequence[tuple[str, str]]) -> dict[str, Callable[[Sequence[Run], View], Figure]]:
    """Figures by queue mode and by pair."""
    return {
        **{f"fairness-{_slug(mode)}": partial(by_mode, mode, cc_pairs) for mode in pairs.QUEUE_MODES},
        **{f"fairness-{'-'.join(ccs)}": partial(by_pair, ccs) for ccs in cc_pairs},
    }


def index_grid(title: str, mode: str, ccs: tuple[str, str], runs: Sequence[Run]) -> Grid:
    """Jain's index of a pair over bandwidth and delay, framed where it is far from the published index."""
    ours, theirs = _medians(mode, ccs, runs, lambda run: run.jain), _published_index(mode, ccs)
    tolerance = JAIN_FORMAT.metrics[pairs.JAIN].tolerance.absolute
    deviating = frozenset(point for point, value in ours.items() if point in theirs and abs(value - theirs[point]) > tolerance)
    return _grid(title, ours, INDEX, deviating)


def _grid(
    title: str,
    values: Mapping[reductions.GridPoint, float],
    scale: Scale,
    outlined: frozenset[reductions.GridPoint] = frozenset(),
    decimals: int = 2,
) -> Grid:
    return Grid(title, values, {point: f"{value:.{decimals}f}" for point, value in values.items()}, scale, outlined)


def _medians(
    mode: str, ccs: tuple[str, str], runs: Sequence[Run], of: Callable[[pairs.PairRun], float]
) -> dict[reductions.GridPoint, float]:
    return {
        (cell.bandwidth_mbit, cell.delay_ms): float(np.median([of(run) for run in repeats]))
        for cell, repeats in pairs.pair_runs(runs).items()
        if cell.queue_mode == mode and cell.ccs == ccs
    }


@cache
def _published_rates() -> Mapping[tuple[str, str, str], Mapping[reductions.GridPoint, list[float]]]:
    """(queue mode, cc, cc) -> grid point -> the published throughputs of both flows."""
    found: dict[tuple[str, str, str], dict[reductions.GridPoint, list[float]]] = {}
    for item in read_reference(FOLDER / f"{TWO_FLOW_FORMAT.name}.csv", [TWO_FLOW_FORMAT]).values:
        if item.metric == reductions.THROUGHPUT:
            mode, cc1, cc2, bandwidth, delay = item.key[:5]
            points = found.setdefault((str(mode), str(cc1), str(cc2)), {})
            points.setdefault((float(bandwidth), float(delay)), []).append(item.value)
    return found


def _published_index(mode: str, ccs: tuple[str, str]) -> dict[reductions.GridPoint, float]:
    rates = _published_rates().get((mode, *ccs), {})
    return {point: metrics.jain(values) for point, values in rates.items()}


def _slug(mode: str) -> str:
    return mode.replace(" ", "-")


FIGURES: Mapping[str, Callable[[Sequence[Run], View], Figure]] = fairness_figures(pairs.CC_PAIRS)
