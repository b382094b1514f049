"""Our own extension: SCE compared with L4S, on the draft's paths and with the draft's metrics.

Each low-latency congestion control runs alone, with a second flow like itself, with Reno and with CUBIC, through each queue:

- `cake-sce`: Cake with SCE marks and one queue for all flows; `cake-sce-fq`: the same with a queue for each flow (the draft's
  `flowblind` and `triple-isolate`)
- `dualpi2`: RFC 9332 with Linux's defaults, a step of 1 ms; `fq-codel-l4s`: a queue for each flow that marks ECT(1) from 1 ms on

SCE flows (reno-sce, dctcp-sce) have the implementation that the draft describes (see `implementation`), and set ECT(0). L4S flows
(prague, dctcp) have the stack of Linux 7.3, negotiate AccECN and set ECT(1), which is SCE's mark. Reno and CUBIC answer CE as RFC 3168
has it. All flows have the draft's access link and TSO.

Leaves out: MTU adaptation and the fallback for classic queues of Prague; a step threshold that is chosen for the bandwidth.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from dumbbell import metrics
from dumbbell.comparing.format import Format, Measured, Metric, Tolerance
from dumbbell.comparing.tables import Cell, Table, fixed
from dumbbell.drawing.heatmap import Grid, Scale, heatmaps
from dumbbell.study.model import Part, Request, View
from dumbbell.study.repeats import repeats
from dumbbell_studies.sce import pairs, reductions
from dumbbell_studies.sce.implementation import DESIGNED
from dumbbell_studies.sce.pair_figures import COLUMNS, ROWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dumbbell.results import Run
    from dumbbell.scenario import ResolvedScenario

SCE, L4S = ("reno-sce", "dctcp-sce"), ("prague", "dctcp")
QUEUES: Mapping[str, Mapping[str, Any]] = {
    "cake-sce": {"qdisc": {"kind": "cake", "isolation": "flowblind", "sce": True}},
    "cake-sce-fq": {"qdisc": {"kind": "cake", "isolation": "triple-isolate", "sce": True}},
    "dualpi2": {"shaper": "htb", "qdisc": "dualpi2"},
    "fq-codel-l4s": {"shaper": "htb", "qdisc": {"kind": "fq_codel", "ce_threshold": "1ms", "ce_threshold_selector": "1/3"}},
}
"""The bottleneck by the name of its queue."""
OWN = {**dict.fromkeys(SCE, ("cake-sce", "cake-sce-fq")), **dict.fromkeys(L4S, ("dualpi2", "fq-codel-l4s"))}
"""The queues that are made for a congestion control. The others are those of the other proposal."""
ALONE, ITSELF = "nothing", "itself"
OTHERS = (ALONE, ITSELF, "reno", "cubic")
QUICK_BANDWIDTHS_MBIT, QUICK_DELAYS_MS = (10.0, 50.0), (20.0,)
_KEYS = ("queue", "low", "other", "bandwidth_mbit", "delay_ms")
_SHARE = Scale("share of the low-latency flow (%)", 0, 100, "RdBu_r")
_WAIT = Scale("smoothed RTT less the delay (ms)", 0.5, 100, "viridis_r", logarithmic=True)
_RATE = Scale("throughput / bandwidth", 0.5, 1.0, "viridis")


@dataclass(frozen=True)
class Place:
    """A cell: the queue, the low-latency congestion control, what runs with it, and the path."""

    queue: str
    low: str
    other: str
    bandwidth_mbit: float
    delay_ms: float

    @property
    def key(self) -> tuple[str, str, str, float, float]:
        """The values of the key columns."""
        return self.queue, self.low, self.other, self.bandwidth_mbit, self.delay_ms

    def document(self) -> dict[str, Any]:
        """Return the scenario, as a user would write it."""
        ccs = [self.low, *([] if self.other == ALONE else [self.low if self.other == ITSELF else self.other])]
        return {
            "name": f"sce-l4s-{self.queue}-{self.low}-{self.other}-{self.bandwidth_mbit:g}mbit-{self.delay_ms:g}ms",
            "path": {
                "rtt": f"{self.delay_ms:g}ms",
                "delay": {"where": "before", "extra": "300us"},
                "access": {"rate": "1gbit"},
                "bottleneck": {"rate": f"{self.bandwidth_mbit:g}mbit", **QUEUES[self.queue]},
            },
            "flows": [{"name": name, **_flow(cc)} for name, cc in zip(pairs.FLOWS, ccs, strict=False)],
            "duration": "300s",
            "sample": "200ms",
        }


@dataclass(frozen=True)
class Finding:
    """The draft's metrics of a run: the throughput and the mean smoothed RTT of each flow."""

    throughput_mbit: tuple[float, ...]
    rtt_ms: tuple[float, ...]

    @property
    def share(self) -> float:
        """The first flow's share of the throughput."""
        return self.throughput_mbit[0] / sum(self.throughput_mbit)


def scenarios(request: Request) -> list[ResolvedScenario]:
    """Return the runs of all cells."""
    grid = itertools.product(
        QUEUES,
        (*SCE, *L4S),
        OTHERS,
        QUICK_BANDWIDTHS_MBIT if request.quick else pairs.BANDWIDTHS_MBIT,
        QUICK_DELAYS_MS if request.quick else pairs.DELAYS_MS,
    )
    return [run for place in itertools.starmap(Place, grid) for run in repeats(place.document(), vars(place), request)]


def findings(runs: Sequence[Run]) -> dict[Place, list[Finding]]:
    """Return the metrics of the runs by cell, one for each seed."""
    found: dict[Place, list[Finding]] = {}
    for run in runs:
        if set(_KEYS) <= run.cell.keys():
            queue, low, other = (str(run.cell[name]) for name in _KEYS[:3])
            place = Place(queue, low, other, float(run.cell["bandwidth_mbit"]), float(run.cell["delay_ms"]))
            flows = [f"flow/{name}" for name in pairs.FLOWS if f"flow/{name}" in run.counters]
            rates = tuple(reductions.throughput_mbit(run, flow) for flow in flows)
            found.setdefault(place, []).append(Finding(rates, tuple(reductions.rtt_ms(run, flow) for flow in flows)))
    return found


def comparison(runs: Sequence[Run]) -> Table:
    """Return one row for each queue, low-latency congestion control and second flow, over all bandwidths and delays."""
    several: dict[tuple[str, str, str], list[tuple[Place, list[Finding]]]] = {}
    for place, found in findings(runs).items():
        several.setdefault((place.queue, place.low, place.other), []).append((place, found))
    rows: list[list[Cell]] = []
    for (queue, low, other), cells in several.items():
        used = [median(sum(each.throughput_mbit) for each in found) / place.bandwidth_mbit for place, found in cells]
        waits = [_median_wait(place, found, 0) for place, found in cells]
        pair = [(place, found) for place, found in cells if other != ALONE]
        shares = [median(each.share for each in found) for _, found in pair]
        index = [median(metrics.jain(each.throughput_mbit) for each in found) for _, found in pair]
        rows.append(
            [
                queue,
                "own" if queue in OWN[low] else "other",
                low,
                other,
                len(cells),
                fixed(fmean(used), 3),
                fixed(median(waits), 1),
                fixed(median(_median_wait(place, found, 1) for place, found in pair), 1) if pair else None,
                fixed(100 * fmean(shares), 1) if pair else None,
                fixed(100 * min(shares), 1) if pair else None,
                fixed(fmean(index), 3) if pair else None,
            ]
        )
    heads = ["queue", "made for", "flow 1", "flow 2", "cells", "used", "wait of 1 (ms)", "wait of 2 (ms)"]
    heads += ["mean share of 1 (%)", "least share of 1 (%)", "mean index"]
    return Table("SCE and L4S over bandwidths and delays; wait is the smoothed RTT less the delay, median over cells", heads, rows)


def figure(runs: Sequence[Run], view: View) -> Figure:
    """Draw throughput and wait alone, and the share with CUBIC, of each congestion control in its own queues and one of the other's."""
    found = findings(runs)
    columns = [("reno-sce", "cake-sce"), ("dctcp-sce", "cake-sce"), ("prague", "dualpi2"), ("prague", "fq-codel-l4s")]
    columns += [("dctcp-sce", "dualpi2"), ("prague", "cake-sce")]

    def panel(low: str, queue: str, other: str, what: str) -> Grid:
        cells = {place: each for place, each in found.items() if (place.low, place.queue, place.other) == (low, queue, other)}
        scale, decimals = {"rate": (_RATE, 2), "wait": (_WAIT, 1), "share": (_SHARE, 0)}[what]
        points = {}
        for place, each in cells.items():
            point = (place.bandwidth_mbit, place.delay_ms)
            if what == "rate":
                points[point] = median(run.throughput_mbit[0] for run in each) / place.bandwidth_mbit
            elif what == "wait":
                points[point] = _median_wait(place, each, 0)
            else:
                points[point] = 100 * median(run.share for run in each)
        words = {"rate": "alone", "wait": "alone", "share": f"with {other}"}
        return Grid(f"{low} {words[what]}, {queue}", points, {at: f"{value:.{decimals}f}" for at, value in points.items()}, scale)

    panels = [
        [panel(low, queue, ALONE, "rate") for low, queue in columns],
        [panel(low, queue, ALONE, "wait") for low, queue in columns],
        [panel(low, queue, "cubic", "share") for low, queue in columns],
    ]
    return heatmaps("SCE and L4S in their own queues and in the other's", "", panels, ROWS, COLUMNS, view.size)


def _flow(cc: str) -> dict[str, Any]:
    """Return what a flow of a congestion control has: SCE's implementation as designed, or Linux 7.3 with AccECN."""
    if cc in L4S:
        return {"cc": cc, "ecn": "accecn", "ect": 1, "stack": "linux-7.3", "host": {"offload": "tso"}}
    echo = {"sce_echo": True} if cc in SCE else {}
    return {"cc": cc, "ecn": True, **echo, "stack": DESIGNED.stack, "host": {"offload": "tso"}}


def _median_wait(place: Place, found: Sequence[Finding], flow: int) -> float:
    return median(each.rtt_ms[flow] for each in found) - place.delay_ms


def _measure(runs: Sequence[Run]) -> Measured:
    measured: Measured = {}
    for place, found in findings(runs).items():
        for i in range(len(found[0].rtt_ms)):
            key = (*place.key, float(i + 1))
            measured[key, reductions.THROUGHPUT] = [each.throughput_mbit[i] for each in found]
            measured[key, reductions.RTT] = [each.rtt_ms[i] for each in found]
    return measured


BESIDE_L4S = Part(
    name="l4s",
    title="Our extension: SCE and L4S on the draft's paths, 4 queues x 4 congestion controls x 4 partners x 5 bandwidths x 4 delays",
    formats=(
        Format(
            name="sce_l4s",
            columns=(*_KEYS, "flow", "metric", "value"),
            keys=(*_KEYS, "flow"),
            numbers=frozenset({"bandwidth_mbit", "delay_ms", "flow"}),
            metrics={
                reductions.THROUGHPUT: Metric(unit="Mbit/s", title="Throughput", tolerance=Tolerance(of_column=("bandwidth_mbit", 0.05))),
                reductions.RTT: Metric(unit="ms", title="Mean RTT", tolerance=Tolerance(relative=0.15, absolute=1.5)),
            },
            measure=_measure,
        ),
    ),
    published={},
    scenarios=scenarios,
    quick_note="2 bandwidths at 20 ms instead of 5 x 4, each run as long as the draft's",
    figures={"sce-and-l4s": figure},
    summaries=lambda runs: {"comparison": comparison(runs)},
)
