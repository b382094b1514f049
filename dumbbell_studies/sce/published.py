"""The published numbers of the draft, as printed."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from dumbbell.study.claims import read_claims

FOLDER = Path(__file__).parent / "published"
_CHAOTIC = Path(__file__).parent / "chaotic.csv"


@cache
def table_numbers() -> Mapping[tuple[str, str, str, str], int]:
    """(metric, first cc, second cc, queue mode) -> number of the draft's table. Second cc and queue mode are "" if there is none."""
    with (FOLDER / "sce_table_index.csv").open(newline="", encoding="utf-8") as file:
        return {(row["metric"], row["cc1_or_a"], row["cc2_or_b"], row["queue_mode"]): int(row["table"]) for row in csv.DictReader(file)}


@cache
def faults() -> Mapping[tuple[int, float, float], str]:
    """(number of a table, bandwidth in Mbit/s, delay in ms) -> what is known to be wrong with the values printed there."""
    with (FOLDER / "faults.csv").open(newline="", encoding="utf-8") as file:
        return {(int(row["table"]), float(row["bandwidth_mbit"]), float(row["delay_ms"])): row["fault"] for row in csv.DictReader(file)}


@cache
def claim_rows() -> list[dict[str, str]]:
    """Rows of claims.csv."""
    return read_claims(FOLDER / "claims.csv")


@cache
def chaotic_cells() -> frozenset[tuple[str, float, float, str]]:
    """(cc, bandwidth in Mbit/s, delay in ms, metric) of the one-flow cells whose value depends on timing at the millisecond."""
    with _CHAOTIC.open(newline="", encoding="utf-8") as file:
        return frozenset((row["cc"], float(row["bandwidth_mbit"]), float(row["delay_ms"]), row["metric"]) for row in csv.DictReader(file))
