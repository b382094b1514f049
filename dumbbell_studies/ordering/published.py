"""The published numbers of the page, as printed."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from dumbbell.study.claims import read_claims

FOLDER = Path(__file__).parent / "published"


@cache
def utilization() -> Mapping[tuple[float, str, str], float]:
    """(section, level, protocol) -> link utilisation, where one is printed."""
    with (FOLDER / "ncsu_utilization.csv").open(newline="", encoding="utf-8") as file:
        return {
            (float(row["section"]), row["level"], row["protocol"]): float(row["utilization"])
            for row in csv.DictReader(file)
            if row["utilization"]
        }


@cache
def claim_rows() -> list[dict[str, str]]:
    """Rows of claims.csv."""
    return read_claims(FOLDER / "claims.csv")
