"""Prague with classic flows (PAM 2025): one flow or several of each side through nine queues.

    tx_l4s, tx_classic -- [netem RTT/2] [htb 100 Mbit/s: queue] -- rx_l4s, rx_classic     (data)
                       -- [netem RTT/2] --                                              (ACKs)

Sarpkaya, Fund, Panwar, "To adopt or not to adopt L4S-compatible congestion control?". Offloads are off. iperf3 runs for 60 s on either
side, the L4S side first and the classic side some 100 ms later. A rate is the sum over the flows of a side, start-up included. A published
number is a mean of ten trials, with its minimum and maximum.

Prague is that of early 2024, which becomes independent of the RTT 500 rounds after slow start (version 0.6 here). BBRv3 is Google's tree.
Its "ecn" without the route's feature negotiates ECN and ignores marks.

The study's Prague with fallback is that of the Linux module of that time, whose references for classic queues are a sixteenth of what they
should be ("module" here). Only the claim about it is checked, because the cells with it are not in the table.

Leaves out: BBRv2, which dumbbell does not have, on either side.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from dumbbell.comparing.format import Format, Key, KeyValue, Measured, Metric, Tolerance
from dumbbell.comparing.tables import Table
from dumbbell.study.model import Part, Request
from dumbbell.study.repeats import repeats
from dumbbell_studies.l4s.pam25_claims import Cell, check_claims

if TYPE_CHECKING:
    from dumbbell.results import Run
    from dumbbell.scenario import ResolvedScenario

PUBLISHED = Path(__file__).parent / "published"
TABLE = PUBLISHED / "pam25.csv"
RATE_MBIT = 100.0
DURATION_S = 60.0
_MARGIN = 0.05 * RATE_MBIT
"""Part of the link rate by which a value may lie outside of the published range, Mbit/s."""
_MEDIAN = 0.04 * RATE_MBIT
"""Largest median difference from the published means, Mbit/s."""
_KEYS = ("n_l4s", "n_classic", "classic", "ecn", "aqm", "threshold_ms", "buffer_bdp", "rtt_ms")
_NUMBERS = frozenset({"n_l4s", "n_classic", "threshold_ms", "buffer_bdp", "rtt_ms"})
_SIDES = ("l4s", "classic")
_FALLBACK = "fallback"
"""Key of the runs in which Prague looks for classic queues."""


@dataclass(frozen=True)
class Experiment:
    """A cell of the study, with the published range of each side's rate, Mbit/s."""

    key: Key
    ranges: Mapping[str, tuple[float, float]]
    means: Mapping[str, float]

    @property
    def named(self) -> dict[str, KeyValue]:
        """Its key by column."""
        return dict(zip(_KEYS, self.key, strict=True))

    @property
    def shows_fallback(self) -> bool:
        """True if the claim about Prague's fallback is about this cell."""
        return self.key[:4] == (1.0, 1.0, "cubic", "on") and self.key[6:] == (2.0, 10.0)

    def document(self, fallback: str = "off") -> Mapping[str, Any]:
        """Return the experiment as a scenario file has it."""
        cell = self.named
        rtt = f"{cell['rtt_ms']:g}ms"
        path = {
            "rtt": rtt,
            "bottleneck": {"rate": f"{RATE_MBIT:g}mbit", "shaper": "htb", "qdisc": _queue(cell)},
            "reverse": "none",
        }
        name = "-".join(f"{value:g}" if isinstance(value, float) else value for value in self.key).replace("_", "-").lower()
        prague = {"kind": "prague", "version": "0.6", "fallback": fallback}
        if fallback != "off":
            name += "-fallback"
        flows = [
            {"name": "l4s", "cc": prague, "ecn": "accecn", "stack": "linux-7.3", "count": int(cell["n_l4s"])},
            {"name": "classic", **_classic(cell), "count": int(cell["n_classic"]), "start": {"first": "300ms"}},
        ]
        return {"name": f"pam25-{name}", "path": path, "flows": flows, "duration": f"{DURATION_S:g}s", "sample": "1s"}


def _classic(cell: Mapping[str, KeyValue]) -> dict[str, Any]:
    """Return the congestion control and the ECN of the classic side."""
    if cell["classic"] != "bbr3":
        return {"cc": cell["classic"], "ecn": cell["ecn"] != "off"}
    low = {"ecn_low": True} if cell["ecn"] == "low" else {}
    return {"cc": {"kind": "bbr3", "variant": "google", **low}, "ecn": cell["ecn"] != "off"}


def _queue(cell: Mapping[str, KeyValue]) -> dict[str, Any]:
    """Return the queue discipline, with tc's arguments of the study."""
    size = round(1000 * float(cell["buffer_bdp"]) * RATE_MBIT * float(cell["rtt_ms"]) / 8)
    packets, target = f"{size // 1500 + 1}p", f"{cell['threshold_ms']:g}ms"
    codel = {"limit": packets, "target": target, "interval": "100ms"}
    queues: dict[str, dict[str, Any]] = {
        "FIFO": {"kind": "bfifo", "limit": f"{size}B"},
        # fq with one bucket for all flows is a FIFO that marks by sojourn time. CoDel with a target that is never reached is the same.
        "single_queue_FQ": {"kind": "codel", "limit": packets, "target": "4s", "interval": "4s", "ecn": True, "ce_threshold": target},
        "Codel": {"kind": "codel", **codel, "ecn": True},
        "Codel_drop": {"kind": "codel", **codel, "ecn": False},
        "pie_drop": {"kind": "pie", "limit": packets, "target": target, "ecn": False},
        "FQ": {"kind": "fq", "limit": packets, "flow_limit": packets, "ce_threshold": target},
        "FQ_Codel": {"kind": "fq_codel", **codel, "ecn": True},
        "FQ_Codel_L4S": {"kind": "fq_codel", **codel, "ecn": True, "ce_threshold": "1ms", "ce_threshold_selector": "1/1"},
        "DualPI2": {"kind": "dualpi2", "target": target},
    }
    return queues[str(cell["aqm"])]


@cache
def experiments() -> Mapping[Key, Experiment]:
    """Return the published cells by their keys."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        key = tuple(float(row[name]) if name in _NUMBERS else row[name] for name in _KEYS)
        ranges = {side: (float(row[f"{side}_min"]), float(row[f"{side}_max"])) for side in _SIDES}
        found[key] = Experiment(key, ranges, {side: float(row[f"{side}_mbit"]) for side in _SIDES})
    return found


def scenarios(request: Request) -> list[ResolvedScenario]:
    """Return the runs of all cells; with --quick those of one flow of each side at a buffer of 2 BDP."""
    chosen = [each for each in experiments().values() if not request.quick or _is_quick(each.named)]
    runs = [run for each in chosen for run in repeats(each.document(), each.named, request)]
    with_fallback = [each for each in experiments().values() if each.shows_fallback]
    return runs + [run for each in with_fallback for run in repeats(each.document("module"), {**each.named, _FALLBACK: "module"}, request)]


def _is_quick(cell: Mapping[str, KeyValue]) -> bool:
    return cell["n_l4s"] == cell["n_classic"] == 1 and cell["buffer_bdp"] == 2


def cells(runs: Sequence[Run], with_fallback: bool = False) -> Iterator[tuple[Key, Cell]]:
    """Yield the cell of each run: the rates of both sides, and the mean smoothed RTT of the first L4S flow.

    `with_fallback`: of the runs in which Prague looks for classic queues. Else of all others.
    """
    for run in runs:
        if set(_KEYS) <= run.cell.keys() and (_FALLBACK in run.cell) == with_fallback:
            key = tuple(float(run.cell[name]) if name in _NUMBERS else str(run.cell[name]) for name in _KEYS)
            rows = run.flows.rows()
            rates = {side: sum(row["rx_bytes"] for row in rows if row["group"] == side) * 8e-6 / DURATION_S for side in _SIDES}
            first = next(row["flow"] for row in rows if row["group"] == "l4s")
            _, srtt = run.series(f"flow/{first}", "srtt_ms")
            yield key, Cell(rates["l4s"], rates["classic"], fmean(each for each in srtt if each == each))  # NaN before the first RTT


def _measure(runs: Sequence[Run]) -> Measured:
    found: Measured = {}
    for key, cell in cells(runs):
        for side in _SIDES:
            found.setdefault((key, f"{side}_mbit"), []).append(getattr(cell, f"{side}_mbit"))
    return found


def _tolerance(side: str) -> Any:
    def tolerance(key: Mapping[str, KeyValue]) -> Tolerance:
        each = experiments()[tuple(key[name] for name in _KEYS)]
        low, high = each.ranges[side]
        return Tolerance(absolute=_MARGIN + min(high - each.means[side], each.means[side] - low))

    return tolerance


def agreement(runs: Sequence[Run]) -> Mapping[str, Table]:
    """Return how far the cells are from what is published, by queue and by classic congestion control."""
    measured = _measure(runs)
    rows: list[list[str | int]] = []
    groups: list[tuple[str, Any]] = [("all", lambda _cell: True)]
    groups += [(aqm, lambda cell, aqm=aqm: cell["aqm"] == aqm) for aqm in dict.fromkeys(str(key[4]) for key in experiments())]
    groups += [(cc, lambda cell, cc=cc: cell["classic"] == cc) for cc in dict.fromkeys(str(key[2]) for key in experiments())]
    for name, belongs in groups:
        differences, inside = [], []
        for (key, metric), values in measured.items():
            each, side = experiments().get(key), metric.removesuffix("_mbit")
            if each is None or not belongs(each.named):
                continue
            (low, high), value = each.ranges[side], median(values)
            differences.append(abs(value - each.means[side]))
            inside.append(low - _MARGIN <= value <= high + _MARGIN)
        if differences:
            rows.append([name, len(inside), f"{median(differences):.2f}", f"{sum(inside) / len(inside):.1%}"])
    columns = ["cells", "values", "median difference (Mbit/s)", "within the range +- 5 Mbit/s"]
    return {"ranges": Table("PAM 2025: differences from the published means and ranges", columns, rows)}


def _metric(side: str, title: str) -> Metric:
    return Metric(
        "Mbit/s",
        title,
        Tolerance(absolute=_MARGIN),
        tolerance_note="5 % of the link rate beyond the nearer end of the published range",
        tolerance_of=_tolerance(side),
        bar=0.75,
    )


FORMAT = Format(
    name="l4s-pam25",
    columns=(*_KEYS, "l4s_mbit", "classic_mbit", "l4s_min", "l4s_max", "classic_min", "classic_max", "l4s_srtt_ms"),
    keys=_KEYS,
    numbers=_NUMBERS,
    metrics={"l4s_mbit": _metric("l4s", "rate of the L4S side"), "classic_mbit": _metric("classic", "rate of the classic side")},
    measure=_measure,
)
PAM25 = Part(
    name="pam25",
    title="PAM 2025: Prague with classic flows, 9 queues x 5 buffers",
    formats=(FORMAT,),
    published={FORMAT.name: TABLE},
    scenarios=scenarios,
    quick_note="only one flow of each side and buffers of 2 BDP",
    figures={},
    summaries=agreement,
    claims=lambda runs: check_claims(PUBLISHED / "pam25_claims.csv", cells(runs), cells(runs, with_fallback=True)),
    claims_bar=0.75,
    seeds=3,
)
