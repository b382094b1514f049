"""The rule that decides if a cell has enough runs. A verdict depends only on the results of the cell's runs.

The interval is that of `dumbbell table --statistic mean`. The number of runs that a width takes is estimated from a first sample as Stein
does (Annals of Mathematical Statistics 16, 1945): it grows with the square of the interval. The variance of a few runs is not well known.
Therefore the number of runs is at most doubled before the interval is looked at again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from dumbbell.comparing.across.coordinates import RunSet
from dumbbell.comparing.across.derived import TABLE_COLUMNS, computed
from dumbbell.comparing.across.estimates import Estimate, by_run, estimate
from dumbbell.comparing.across.observations import observations
from dumbbell.comparing.across.tables import ROWS
from dumbbell.errors import nearest, one_of
from dumbbell.results.columns import bare, find_column, unit_of
from dumbbell.results.summary import Outline, Summarised
from dumbbell.scenario import Scenario, ScenarioError
from dumbbell.scenario.values.amount import Amount

if TYPE_CHECKING:
    from dumbbell.results import Run

State = Literal["narrow", "wide", "equal", "none"]
_BY_DEFAULT = ("run", "group", "stream")
_UNITS: Mapping[str, tuple[str, float, str]] = {
    "ms": ("Duration", 1e-6, "1ms"),
    "s": ("Duration", 1e-9, "1s"),
    "Mbit/s": ("Rate", 1e-6, "100kbit"),
    "packets": ("Packets", 1.0, "10p"),
    "bytes": ("Size", 1.0, "10kB"),
}
"""Unit of a column -> the kind of an amount of it, its factor on that, and an example. A column of another unit takes plain numbers."""


@dataclass(frozen=True)
class Verdict:
    """Verdict about a cell after some runs."""

    taken: int
    """Runs."""
    state: State
    """`narrow`: known well enough; `wide`: not; `equal`: well enough, but for rows of which all runs have the same value, so that they
    have no interval; `none`: no repeat has a value."""
    of: str
    """The row with the widest interval, such as `cubic forward`; empty for the whole run."""
    estimate: Estimate
    """Estimate of that row."""
    more: int
    """Further runs that are worth making; 0: there will be no others."""

    def plain(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        numbers = {"mean": self.estimate.centre, "low": self.estimate.low, "high": self.estimate.high}
        known = {name: value if math.isfinite(value) else None for name, value in numbers.items()}
        return {"runs": self.taken, "state": self.state, "of": self.of, **known}


@dataclass(frozen=True)
class Rule:
    """The meaning of a scenario's `until`."""

    column: str
    per: str
    width: float
    """Maximum of half an interval: a share of the mean, or in the unit of the column."""
    is_share: bool
    least: int
    most: int

    @classmethod
    def of(cls, scenario: Scenario) -> Rule:
        """Return the rule of a scenario that has one. Raises `ScenarioError` for an unknown metric, or a width that does not fit it."""
        until = scenario.until
        assert until is not None
        pers = _BY_DEFAULT if until.per is None else (until.per,)
        found = [(column, per) for per in pers if (column := find_column(until.metric, TABLE_COLUMNS[per])) is not None]
        if not found:
            known = list(dict.fromkeys(column for per in pers for column in TABLE_COLUMNS[per]))
            what = f"{until.metric!r} is unknown{nearest(until.metric, [*map(bare, known), *known])}"
            raise ScenarioError([scenario.locate(("until", "metric"), what, one_of(known))])
        column, per = found[0]
        width, is_share = _width(scenario, until.ci, column)
        return cls(column, per, width, is_share, until.least, until.most)

    def outline(self, run: Run) -> Outline:
        """Return the part of a run that the rule looks at. Raises `DamagedRun` if the rule needs the run's series and they are damaged."""
        summary = run.summary
        if (values := computed(run, self.per, self.column)) is not None:
            if self.per == "run":
                summary = replace(summary, run=_with(summary.run, self.column, values.get("", math.nan)))
            else:
                rows = summary.flows if self.per == "flow" else summary.groups
                made = {name: _with(rows.get(name, {}), self.column, value) for name, value in values.items()}
                summary = replace(summary, flows={**rows, **made}) if self.per == "flow" else replace(summary, groups={**rows, **made})
        return Outline(run.cell, summary, run.name, run.key)

    def judge(self, runs: Sequence[Summarised], taken: int) -> Verdict:
        """The verdict after `taken` runs, of which `runs` are whole and valid."""
        found = {place: each for place, each in self._estimates(runs) if each.count}
        if not found:
            return Verdict(taken, "none", "", Estimate(math.nan, math.nan, math.nan, 0), 0)
        known = {place: each for place, each in found.items() if not _are_equal(each)}
        place = max(known or found, key=lambda place: self._ratio(found[place]))
        ratio = self._ratio(found[place]) if known else 0.0
        state: State = "wide" if ratio > 1 else "narrow" if len(known) == len(found) else "equal"
        wanted = min(taken * ratio**2, 2 * taken, self.most) if ratio > 1 else taken
        more = min(max(math.ceil(wanted), taken + 1), self.most) - taken if ratio > 1 else 0
        if known and state == "equal":  # the verdict names the row without an interval
            place = next(place for place in found if place not in known)
        return Verdict(taken, state, " ".join(filter(None, dict.fromkeys(place))), found[place], max(more, 0))

    def _estimates(self, runs: Sequence[Summarised]) -> Iterator[tuple[tuple[str, ...], Estimate]]:
        rows: dict[tuple[str, ...], list[tuple[int, float]]] = {}
        for each in observations([RunSet("", [run for run in runs if run.summary.status != "invalid"])], self.per):
            place = tuple(str(each.at.get(key, "")) for key in ROWS[self.per])
            rows.setdefault(place, []).append((each.run, each.values.get(self.column, math.nan)))
        for place, pairs in rows.items():
            yield place, estimate(by_run(pairs), "mean")

    def _ratio(self, found: Estimate) -> float:
        """Return half an interval as a multiple of its target."""
        allowed = self.width * abs(found.centre) if self.is_share else self.width
        half = (found.high - found.low) / 2
        return half / allowed if found.has_interval and allowed else math.inf


def _with(row: Mapping[str, float], column: str, value: float) -> dict[str, float]:
    """Return a row with a computed column, unless it has that column already."""
    return dict(row) if not math.isnan(row.get(column, math.nan)) else {**row, column: value}


def _are_equal(found: Estimate) -> bool:
    """True if there are several values, all the same."""
    return found.count > 1 and math.isfinite(found.centre) and not found.has_interval


def _width(scenario: Scenario, ci: Amount, column: str) -> tuple[float, bool]:
    """The width, and whether it is a share of the mean."""
    if ci.kind == "Share":
        return float(ci.value) / 100, True
    kind, factor, example = _UNITS.get(unit_of(column), ("", 1.0, "0.01"))
    if ci.kind != kind if kind else not ci.is_plain:
        what = f"{ci} is no width of {column}"
        raise ScenarioError([scenario.locate(("until", "ci"), what, f"a share of the mean such as 2%, or a width such as {example}")])
    return float(ci.value) * factor, False
