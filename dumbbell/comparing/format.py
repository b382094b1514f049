"""Formats of published data: the key columns of a cell, the metrics, and their tolerances."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, TypeAlias

from dumbbell.errors import BadInput

if TYPE_CHECKING:
    from dumbbell.results import Run

KeyValue: TypeAlias = str | float
Key: TypeAlias = tuple[KeyValue, ...]
"""The values of a format's key columns, in their order; numbers are floats."""

Measured: TypeAlias = dict[tuple[Key, str], list[float]]
"""(cell, metric) -> dumbbell's values, one per seed."""


@dataclass(frozen=True)
class Tolerance:
    """The maximum of `|ours - theirs|` that counts as agreement: the maximum of the given terms."""

    relative: float = 0.0
    """Share of the reference value."""
    absolute: float = 0.0
    """In the metric's unit."""
    of_column: tuple[str, float] | None = None
    """A key column, and the share of its value."""

    def allowed(self, theirs: float, key: Mapping[str, KeyValue]) -> float:
        """The tolerance at one cell, in the metric's unit."""
        terms = [self.relative * abs(theirs), self.absolute]
        if self.of_column is not None:
            column, share = self.of_column
            terms.append(share * float(key[column]))
        return max(terms)

    def __str__(self) -> str:
        terms = []
        if self.of_column is not None:
            terms.append(f"{self.of_column[1] * 100:g}%{self.of_column[0]}")
        if self.relative:
            terms.append(f"{self.relative * 100:g}%")
        if self.absolute:
            terms.append(f"{self.absolute:g}")
        return ",".join(terms) or "0"

    def words(self, unit: str) -> str:
        """The tolerance as text, such as `10 % or 1 ms`."""
        terms = []
        if self.of_column is not None:
            terms.append(f"{self.of_column[1] * 100:g} % of {title_of(self.of_column[0]).partition(' (')[0]}")
        if self.relative:
            terms.append(f"{self.relative * 100:g} %")
        if self.absolute:
            terms.append(f"{self.absolute:g} {unit}".rstrip())
        return " or ".join(terms) or "0"

    @classmethod
    def parse(cls, text: str, keys: Sequence[str]) -> Tolerance:
        """Read `10%,1` (the greater of 10 % of the reference and 1 unit) or `3%bandwidth_mbit` (3 % of that key column)."""
        relative = absolute = 0.0
        of_column: tuple[str, float] | None = None
        for term in text.split(","):
            match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*([a-z_]*)\s*", term)
            if match is None or (match[3] and not match[2]):
                raise BadInput(f"tolerance {term.strip()!r}: expected 10%, 3%COLUMN or a number in the metric's unit, joined by commas")
            number = float(match[1])
            if match[3]:
                if match[3] not in keys:
                    raise BadInput(f"tolerance {term.strip()!r}: no column {match[3]!r}; expected one of {', '.join(keys)}")
                of_column = (match[3], number / 100)
            elif match[2]:
                relative = number / 100
            else:
                absolute = number
        return cls(relative, absolute, of_column)


@dataclass(frozen=True)
class Metric:
    """A published metric."""

    unit: str
    title: str
    tolerance: Tolerance
    tolerance_note: str = ""
    """Replaces the text of the tolerance where that would be unclear."""
    tolerance_of: Callable[[Mapping[str, KeyValue]], Tolerance] | None = None
    """The tolerance of a cell where that depends on its key."""
    informative: Callable[[float, Mapping[str, KeyValue]], bool] = lambda _theirs, _key: True
    """True if a cell is informative. It is not if, for example, the published value is simply the capacity."""
    informative_rule: str = ""
    """The rule in words; empty if every cell is informative."""
    bar: float | None = None
    """The minimum share within tolerance that `--check` accepts."""
    informative_bar: float | None = None
    """The same for informative cells."""
    floor: float = 0.0
    """Minimum denominator of relative differences, in the metric's unit."""
    centre: Callable[[Sequence[float]], float] = median
    """Combines the values of a cell's runs into one."""

    def tolerance_at(self, key: Mapping[str, KeyValue]) -> Tolerance:
        """The tolerance of a cell."""
        return self.tolerance if self.tolerance_of is None else self.tolerance_of(key)

    @property
    def tolerance_words(self) -> str:
        """The tolerance as text."""
        return self.tolerance_note or self.tolerance.words(self.unit)


@dataclass(frozen=True)
class Format:
    """A kind of reference file, recognised by its header."""

    name: str
    columns: tuple[str, ...]
    """The header, in order. With columns `metric` and `value` a row is one value; otherwise these are the keys and each metric is a
    further column."""
    keys: tuple[str, ...]
    """The columns that identify a cell."""
    numbers: frozenset[str]
    """The key columns whose values are numbers."""
    metrics: Mapping[str, Metric]
    measure: Callable[[Sequence[Run]], Measured]
    """Computes dumbbell's values of the same cells and metrics from runs."""
    loose: Callable[[Key, str], bool] = lambda _key, _metric: False
    """True if a cell is known to be chaotic. Such a cell is judged by dumbbell's spread over seeds in addition to the tolerance."""
    fault: Callable[[Key, str], str] = lambda _key, _metric: ""
    """Known error in a published value, in words; empty if there is none. The value is compared as printed all the same."""
    all_metrics_bar: float | None = None
    """The minimum share of cells with every metric within tolerance that `--check` accepts."""
    table_number: Callable[[Key, str], int | None] = lambda _key, _metric: None
    """The number of the publication's table that contains a cell's metric."""

    @property
    def long(self) -> bool:
        """True if a row holds one value of a named metric."""
        return "metric" in self.columns

    def named(self, key: Key) -> dict[str, KeyValue]:
        """The key as column -> value."""
        return dict(zip(self.keys, key, strict=True))


def title_of(column: str) -> str:
    """The title of a column: `bandwidth (Mbit/s)` for `bandwidth_mbit`."""
    for suffix, unit in (("_mbit", " (Mbit/s)"), ("_ms", " (ms)")):
        if column.endswith(suffix):
            return column.removesuffix(suffix).replace("_", " ") + unit
    return column.replace("_", " ")
