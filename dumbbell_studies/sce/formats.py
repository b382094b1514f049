"""Formats of the draft's reference files: one-flow and two-flow cells, and the differences and Jain's indices derived from them."""

from __future__ import annotations

from collections.abc import Mapping

from dumbbell.comparing.format import Format, Key, KeyValue, Metric, Tolerance
from dumbbell_studies.sce import pairs, reductions
from dumbbell_studies.sce.published import chaotic_cells, faults, table_numbers

INFORMATIVE_BELOW = 0.94
"""Published throughput over bandwidth below which a cell is informative. Goodput cannot exceed 1448/1514 = 0.956 of the bandwidth."""

_NUMBERS = frozenset({"bandwidth_mbit", "delay_ms"})
_PAIR_KEYS = ("queue_mode", "cc1", "cc2", "bandwidth_mbit", "delay_ms")


def _below_ceiling(theirs: float, key: Mapping[str, KeyValue]) -> bool:
    return theirs < INFORMATIVE_BELOW * float(key["bandwidth_mbit"])


def _chaotic(key: Key, metric: str) -> bool:
    cc, bandwidth, delay = key
    return (str(cc), float(bandwidth), float(delay), metric) in chaotic_cells()


def _table(key: Key, metric: str) -> int | None:
    first, second = (key[0], "") if len(key) == 3 else key[:2]
    return table_numbers().get((metric, str(first), str(second), ""))


def _diff_fault(key: Key, metric: str) -> str:
    return _fault(_table(key, metric), key[2], key[3])


def _pair_fault(key: Key, metric: str) -> str:
    return _fault(_pair_table(key, metric), key[3], key[4])


def _fault(table: int | None, bandwidth: KeyValue, delay: KeyValue) -> str:
    return "" if table is None else faults().get((table, float(bandwidth), float(delay)), "")


def _pair_table(key: Key, metric: str) -> int | None:
    mode, first, second = map(str, key[:3])
    return table_numbers().get((metric, first, second, mode))


ONE_FLOW_FORMAT = Format(
    name="sce_one_flow",
    columns=("table", "cc", "bandwidth_mbit", "delay_ms", "metric", "value"),
    keys=("cc", "bandwidth_mbit", "delay_ms"),
    numbers=_NUMBERS,
    metrics={
        reductions.THROUGHPUT: Metric(
            unit="Mbit/s",
            title="Throughput",
            tolerance=Tolerance(of_column=("bandwidth_mbit", 0.03)),
            informative=_below_ceiling,
            informative_rule=f"  published below {INFORMATIVE_BELOW} R",
            bar=0.86,
            informative_bar=0.75,
        ),
        reductions.RTT: Metric(unit="ms", title="Mean RTT", tolerance=Tolerance(relative=0.10, absolute=1.0), bar=0.95),
    },
    measure=reductions.one_flow,
    loose=_chaotic,
    table_number=_table,
)

ONE_FLOW_DIFF_FORMAT = Format(
    name="sce_one_flow_diff",
    columns=("table", "cc_a", "cc_b", "bandwidth_mbit", "delay_ms", "metric", "value"),
    keys=("cc_a", "cc_b", "bandwidth_mbit", "delay_ms"),
    numbers=_NUMBERS,
    metrics={
        reductions.THROUGHPUT_DIFF: Metric(unit="", title="Throughput difference over bandwidth", tolerance=Tolerance(absolute=0.03)),
        reductions.RTT_DIFF: Metric(unit="ms", title="RTT difference", tolerance=Tolerance(relative=0.10, absolute=1.0)),
    },
    measure=reductions.one_flow_diff,
    fault=_diff_fault,
    table_number=_table,
)

TWO_FLOW_FORMAT = Format(
    name="sce_two_flow",
    columns=("table", *_PAIR_KEYS, "flow", "cc", "metric", "value"),
    keys=(*_PAIR_KEYS, "flow", "cc"),
    numbers=_NUMBERS | {"flow"},
    metrics={
        reductions.THROUGHPUT: Metric(unit="Mbit/s", title="Throughput", tolerance=Tolerance(of_column=("bandwidth_mbit", 0.05)), bar=0.88),
        reductions.RTT: Metric(unit="ms", title="Mean RTT", tolerance=Tolerance(relative=0.15, absolute=1.5), bar=0.90),
    },
    measure=pairs.two_flow,
    fault=_pair_fault,
    table_number=_pair_table,
)

JAIN_FORMAT = Format(
    name="sce_jain",
    columns=("table", *_PAIR_KEYS, "metric", "value"),
    keys=_PAIR_KEYS,
    numbers=_NUMBERS,
    metrics={pairs.JAIN: Metric(unit="", title="Jain's index", tolerance=Tolerance(absolute=0.05), bar=0.85)},
    measure=pairs.jain,
    table_number=_pair_table,
)
