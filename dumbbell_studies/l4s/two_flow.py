"""Two flows that start together through one bottleneck: the tabled pairs of "L4S Tests" (`s1_table.md`).

    client -- [netem RTT/2] [htb RATE: qdisc] -- server     (data)
    client -- [htb RATE: qdisc] [netem RTT/2] -- server     (ACKs)

Offloads are off, all flows negotiate ECN (tcp_ecn 3), and a test lasts 180 s. Each number is published as the mean of tcp_info's
delivery_rate from 118 to 178 s. Here it is the goodput of that time, which is at most 1 % above it for flows that always have data.

Prague of 2020 had the rules of version 0.6. Its feedback is AccECN here, CUBIC's the one of RFC 3168. Its rate depends on the RTT, which
is a fitted choice (FITTED).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from dumbbell import metrics
from dumbbell.catalogue import entries
from dumbbell.comparing.format import Format, Key, KeyValue, Measured, Metric, Tolerance
from dumbbell.comparing.tables import Table
from dumbbell.study.model import Fitted, Part, Request, overrides_of
from dumbbell.study.repeats import repeats
from dumbbell_studies.l4s.claims import check_claims

if TYPE_CHECKING:
    from dumbbell.results import Run
    from dumbbell.scenario import ResolvedScenario

PUBLISHED = Path(__file__).parent / "published"
TABLE = PUBLISHED / "two_flow.csv"
WINDOW_S = (118.0, 178.0)
_DURATION = "180s"
_PART_OF_RATE = 0.1
"""Tolerance of a rate, as a share of the link's."""
_CUBIC_WITHIN, _PRAGUE_WITHIN = 0.9, 0.75
"""Targets: shares of the rates within the tolerance, of rows of CUBIC alone and of rows with Prague."""
_ALL_WITHIN = 0.25 + 0.75 * _PRAGUE_WITHIN
"""Target of all rows. Three of four rows have Prague. If all rows meet this, these do too, even with all of CUBIC's rates within."""
_PRAGUE = {"kind": "prague", "version": "0.6", "rtt_independence": False}
FITTED = (
    Fitted(
        "rtt-independence",
        "Prague's rate depends on the RTT",
        "500 rounds after slow start it does not below 25 ms, as in the sources of version 0.6 that are public",
        "The authors write that two Prague flows share a link by more than the ratio of their RTTs of 16 to 1, which is 6.4 to 1 with "
        "independence below 25 ms. The sources of their kernel are not public.",
        {"prague.rtt_independence": True},
    ),
)
_KEYS = ("rate_mbit", "qdisc", "cc1", "rtt1_ms", "cc2", "rtt2_ms")
_PFIFO_PACKETS = {50.0: 1000, 10.0: 200}
"""Limit of the drop-tail queue by the rate of the link, Mbit/s."""


@dataclass(frozen=True)
class Pair:
    """A row of the table: the link, and congestion control and RTT of each flow."""

    row: int
    rate_mbit: float
    qdisc: str
    ccs: tuple[str, str]
    rtts_ms: tuple[float, float]

    @property
    def key(self) -> Key:
        """Its key in the format of the table."""
        return (self.rate_mbit, self.qdisc, self.ccs[0], self.rtts_ms[0], self.ccs[1], self.rtts_ms[1])

    def document(self, prague: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the experiment as a scenario file has it, with these parameters of Prague."""
        queue: dict[str, Any] = {"kind": self.qdisc}
        if self.qdisc == "pfifo":
            queue["limit"] = f"{_PFIFO_PACKETS[self.rate_mbit]}p"
        port = {"rate": f"{self.rate_mbit:g}mbit", "shaper": "htb", "qdisc": queue}
        flows = [
            {"name": f"flow{i}", "cc": prague if cc == "prague" else cc, "rtt": f"{rtt:g}ms", "ecn": "accecn" if cc == "prague" else True}
            for i, (cc, rtt) in enumerate(zip(self.ccs, self.rtts_ms, strict=True), 1)
        ]
        name = f"l4s-{self.qdisc}-{self.rate_mbit:g}-{'-'.join(self.ccs)}-{'-'.join(f'{rtt:g}' for rtt in self.rtts_ms)}".replace("_", "-")
        path = {"rtt": f"{min(self.rtts_ms):g}ms", "bottleneck": port, "reverse": port}
        return {"name": name, "path": path, "flows": flows, "duration": _DURATION, "sample": "1s"}


@cache
def pairs() -> tuple[Pair, ...]:
    """Return the rows that dumbbell has the queues and the congestion controls for."""
    known = entries("cc").keys()
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows = [_pair(row) for row in csv.DictReader(file)]
    return tuple(each for each in rows if each.qdisc in entries("qdisc") and known >= set(each.ccs))


def _pair(row: Mapping[str, str]) -> Pair:
    rtts = float(row["rtt1_ms"]), float(row["rtt2_ms"])
    return Pair(int(row["row"]), float(row["rate_mbit"]), row["qdisc"], (row["cc1"], row["cc2"]), rtts)


def scenarios(request: Request) -> list[ResolvedScenario]:
    """Return the runs of all rows; with --quick only those at 10 Mbit/s."""
    chosen = [each for each in pairs() if each.rate_mbit == min(_PFIFO_PACKETS) or not request.quick]
    prague, others = {**_PRAGUE, **overrides_of("prague", request.override)}, request.without("prague")
    return [run for each in chosen for run in repeats(each.document(prague), dict(zip(_KEYS, each.key, strict=True)), others)]


def rates(runs: Sequence[Run]) -> Iterator[tuple[Key, tuple[float, float]]]:
    """Yield the cell of each run and the goodput of its two flows, Mbit/s."""
    for run in runs:
        if set(_KEYS) <= run.cell.keys():
            one, two = (metrics.throughput_mbit(run.series(f"flow/flow{i}", "rx_bytes"), *WINDOW_S) for i in (1, 2))
            yield tuple(_value(run.cell[key]) for key in _KEYS), (one, two)


def _value(value: Any) -> KeyValue:
    return float(value) if isinstance(value, int | float) else str(value)


def _measure(runs: Sequence[Run]) -> Measured:
    found: Measured = {}
    for key, both in rates(runs):
        for i, rate in enumerate(both, 1):
            found.setdefault((key, f"flow{i}_mbit"), []).append(rate)
    return found


def _tolerance(key: Mapping[str, KeyValue]) -> Tolerance:
    return Tolerance(absolute=_PART_OF_RATE * float(key["rate_mbit"]))


def by_pair(runs: Sequence[Run]) -> Mapping[str, Table]:
    """Return how many rates are within the tolerance, by the pair of congestion controls."""
    measured, published = _measure(runs), {(*value.key, value.metric): value.value for value in TWO_FLOW.reference().values}
    rows: list[list[str | int]] = []
    groups: list[tuple[str, float, Callable[[Key], bool]]] = [("CUBIC alone", _CUBIC_WITHIN, lambda key: not _has_prague(key))]
    groups += [("with Prague", _PRAGUE_WITHIN, _has_prague)]
    for queue in _queues():
        groups.append((f"with Prague, {queue}", _PRAGUE_WITHIN, partial(_has_prague, qdisc=queue)))
    for name, target, belongs in groups:
        errors = [
            abs(median(values) - published[*key, metric]) / float(key[0])
            for (key, metric), values in measured.items()
            if belongs(key) and (*key, metric) in published
        ]
        if errors:
            within = sum(error <= _PART_OF_RATE for error in errors) / len(errors)
            rows.append([name, len(errors), f"{within:.1%}", f"{target:.0%}", f"{100 * median(errors):.1f}", f"{100 * max(errors):.1f}"])
    heads = ["pair", "rates", "within 10 % of the link", "target", "median error (% of the link)", "greatest error"]
    return {"pairs": Table("L4S Tests: rates within the tolerance by pair", heads, rows)}


def _queues() -> list[str]:
    return list(dict.fromkeys(each.qdisc for each in pairs()))


def _has_prague(key: Key, qdisc: KeyValue | None = None) -> bool:
    return "prague" in (key[2], key[4]) and qdisc in (None, key[1])


def _rate(flow: int) -> Metric:
    return Metric(
        "Mbit/s",
        f"rate of flow {flow}",
        Tolerance(absolute=0.0),
        tolerance_note="10 % of the link rate",
        tolerance_of=_tolerance,
        informative=lambda _theirs, key: "prague" not in (key["cc1"], key["cc2"]),
        informative_rule="  rows of CUBIC alone",
        bar=_ALL_WITHIN,
        informative_bar=_CUBIC_WITHIN,
    )


FORMAT = Format(
    name="l4s-two-flow",
    columns=("row", *_KEYS, "flow1_mbit", "flow2_mbit"),
    keys=_KEYS,
    numbers=frozenset({"rate_mbit", "rtt1_ms", "rtt2_ms"}),
    metrics={"flow1_mbit": _rate(1), "flow2_mbit": _rate(2)},
    measure=_measure,
)
TWO_FLOW = Part(
    name="two-flow",
    title="L4S Tests: two flows, 3 queue disciplines x 2 rates x 3 pairs of RTTs",
    formats=(FORMAT,),
    published={FORMAT.name: TABLE},
    scenarios=scenarios,
    quick_note="only 10 Mbit/s",
    figures={},
    summaries=by_pair,
    claims=lambda runs: check_claims(PUBLISHED / "claims.csv", rates(runs)),
    fitted=FITTED,
    claims_bar=1.0,
    select=lambda key: key in {each.key for each in pairs()},
    every_cell=True,
    seeds=3,
)
