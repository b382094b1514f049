"""The answer of a sweep: a row for each cell with the numbers that its traffic is judged by, and a sentence about what differs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dumbbell.comparing.across.estimates import Estimate, counts, estimate, plus_minus
from dumbbell.comparing.across.measures import JAIN, RPM, Measure, answered, called, measured, ways_of
from dumbbell.comparing.across.sentence import Cell, axes, sentence
from dumbbell.comparing.tables import Cell as Field
from dumbbell.comparing.tables import Shown, Table
from dumbbell.metrics.responsiveness import grade
from dumbbell.results.columns import SEED, short
from dumbbell.results.summary import GOODPUT, Summarised

_MOST_CELLS = 60
"""Cells that a table has at most."""


@dataclass
class Answer:
    """The numbers of the runs of one scenario that have been added."""

    name: str
    _shown: dict[Measure, dict[Cell, list[float]]] = field(default_factory=dict)
    """Measure -> cell -> its values over seeds: all numbers of the table."""
    _judged: dict[Measure, dict[Cell, list[float]]] = field(default_factory=dict)
    """The same for the numbers that the sentence may be about."""
    _runs: dict[Cell, int] = field(default_factory=dict)
    """Cell -> number of its runs."""
    _groups: dict[str, set[str]] = field(default_factory=dict)
    """Direction -> the names of the groups of bulk flows that any run has there."""

    def add(self, run: Summarised) -> None:
        """Add the numbers of a run, unless the run is invalid."""
        summary = run.summary
        if summary.status == "invalid":
            return
        cell: Cell = tuple((key, value) for key, value in run.cell.items() if key != SEED)
        self._runs[cell] = self._runs.get(cell, 0) + 1
        shown = answered(summary)
        judged = measured(summary) | {measure: shown[measure] for measure in (JAIN,) if measure in shown}
        for kept, numbers in ((self._shown, shown), (self._judged, judged)):
            for measure, value in numbers.items():
                kept.setdefault(measure, {}).setdefault(cell, []).append(value)
        for way, groups in ways_of(summary).items():
            self._groups.setdefault(way, set()).update(groups)

    @property
    def cells(self) -> int:
        """The number of cells with a valid run."""
        return len(self._runs)

    @property
    def runs(self) -> int:
        """The maximum number of runs of a cell."""
        return max(self._runs.values(), default=0)

    @property
    def judged(self) -> Mapping[Measure, Mapping[Cell, Sequence[float]]]:
        """The numbers whose differences a sentence says: measure -> cell -> its values over the seeds."""
        return self._named(self._judged)

    @property
    def sentence(self) -> str | None:
        """The sentence about the differences; None if there are none to tell. It says so if no cell has an interval, because each has one
        run or its runs are equal: seeds change nothing where nothing is drawn."""
        judged = self._named(self._judged)
        if any(estimate(values, "mean").has_interval for cells in judged.values() for values in cells.values()):
            return sentence(judged)
        found = sentence(judged, single=True)
        runs = max(self._runs.values(), default=0)
        return None if found is None else f"{found.rstrip('.')}, {'in one run each' if runs < 2 else f'in each of {runs} equal runs'}."

    @property
    def differs(self) -> bool:
        """True if the runs are of several cells."""
        return self.cells > 1

    @property
    def varied(self) -> list[str]:
        """The keys with several values."""
        return [key for axis in axes(self._runs) for key in axis]

    def table(self, judged: bool = False) -> Table:
        """A row for each cell, as many as a terminal shows, with means and the halves of their 95 % intervals. `judged`: only the numbers
        whose differences a sentence says."""
        swept = axes(self._runs)
        keys = self._keys(swept)
        rows: list[list[Field]] = []
        shown = self._named(self._judged if judged else self._shown)
        cells = list(self._runs)[:_MOST_CELLS]
        numbers = {measure: {cell: estimate(values.get(cell, ()), "mean") for cell in cells} for measure, values in shown.items()}
        several = len(set(self._runs.values())) > 1
        for cell in cells:
            at = dict(cell)
            counted: list[Field] = [self._runs[cell]] if several else []
            rows.append(
                [*(str(at.get(key, "")) for key in keys), *counted, *(_field(measure, each[cell]) for measure, each in numbers.items())]
            )
        heads = [short(key, [key for axis in swept for key in axis]) for key in keys]
        columns = [*heads, *(["runs"] if several else []), *(measure.title for measure in numbers)]
        return Table(self._title(numbers), columns, rows, len(heads))

    def _title(self, numbers: Mapping[Measure, Mapping[Cell, Estimate]]) -> str:
        found = [each for values in numbers.values() for each in values.values()]
        seeds = counts([Estimate(0.0, 0.0, 0.0, runs) for runs in self._runs.values()])
        more = f", {_MOST_CELLS} of {self.cells} cells" if self.cells > _MOST_CELLS else ""
        if max(self._runs.values(), default=0) < 2:
            return f"{self.name}: one run of each cell{more}" if self.differs else self.name
        interval = " ± 95 % interval" if any(each.has_interval for each in found) else ""
        return f"{self.name}: mean of {seeds}{interval}{more}"

    def _keys(self, swept: Sequence[tuple[str, ...]]) -> list[str]:
        """The keys of the columns: one for keys that have equal values in each cell, as a queue at both ends has."""
        found: list[str] = []
        for axis in swept:
            found += [key for i, key in enumerate(axis) if not any(self._equal(key, other) for other in axis[:i])]
        return found

    def _equal(self, one: str, other: str) -> bool:
        return all(dict(cell).get(one) == dict(cell).get(other) for cell in self._runs)

    def _named(self, values: Mapping[Measure, dict[Cell, list[float]]]) -> dict[Measure, dict[Cell, list[float]]]:
        """The same, with each direction called as in `called`. Goodputs come first."""
        found = {called(measure, self._groups): cells for measure, cells in values.items()}
        order = sorted(found, key=lambda measure: not measure.column.endswith(GOODPUT))
        return {measure: found[measure] for measure in order}


def answer_of(name: str, runs: Iterable[Summarised]) -> Answer:
    """The answer of stored runs."""
    found = Answer(name)
    for run in runs:
        found.add(run)
    return found


def _field(measure: Measure, number: Estimate) -> Field:
    """A number with its interval; a responsiveness with its grade, too."""
    graded = f" {grade(number.centre)}" if measure == RPM else ""
    return Shown(number.centre, lambda _centre: f"{written(number)}{graded}") if number.count else None


def written(number: Estimate) -> str:
    """A mean with half of its interval: three digits, all before the point; a digit more if the interval would read as 0."""
    if not math.isfinite(number.centre):
        return "" if math.isnan(number.centre) else f"{number.centre:g}"
    places = max(0, 2 - (math.floor(math.log10(abs(number.centre))) if number.centre else 0))
    places = min(places, 3)
    if not number.has_interval:
        return f"{number.centre:.0f}" if float(number.centre).is_integer() else f"{number.centre:.{places}f}"
    half = (number.high - number.low) / 2
    for digits in (places, places + 1):
        if float(f"{half:.{digits}f}"):
            return plus_minus(number, digits)
    return f"{number.centre:.{places}f}"
